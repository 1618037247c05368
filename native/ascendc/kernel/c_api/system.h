// native/ascendc/kernel/c_api/system.h
// Order, and numbers of cores.
#pragma once

#include "kernel_operator.h"

OPWRIGHT_INLINE void asc_init() { AscendC::InitSocState(); }

OPWRIGHT_INLINE int64_t asc_get_block_num() { return AscendC::GetBlockNum(); }
OPWRIGHT_INLINE int64_t asc_get_block_idx() { return AscendC::GetBlockIdx(); }
OPWRIGHT_INLINE int64_t asc_get_sub_block_num() { return AscendC::GetSubBlockNum(); }
OPWRIGHT_INLINE int64_t asc_get_sub_block_id() { return AscendC::GetSubBlockIdx(); }
OPWRIGHT_INLINE int64_t asc_get_system_cycle() { return AscendC::GetSystemCycle(); }

OPWRIGHT_INLINE void asc_sync() { AscendC::PipeBarrier<PIPE_ALL>(); }
OPWRIGHT_INLINE void asc_sync_vec() { AscendC::PipeBarrier<PIPE_V>(); }
OPWRIGHT_INLINE void asc_sync_pipe(pipe_t pipe) {
  using namespace AscendC::machine;
  if (core().checks) barrier_order(pipe == PIPE_ALL ? kAllPipes : static_cast<uint8_t>(pipe_of(pipe)));
}

namespace AscendC::machine {

constexpr HardEvent event_between(pipe_t source, pipe_t destination) {
  return static_cast<HardEvent>(static_cast<int>(pipe_of(source)) << 4 | static_cast<int>(pipe_of(destination)));
}

}  // namespace AscendC::machine

// SetFlag and WaitFlag.
OPWRIGHT_INLINE void asc_sync_notify(pipe_t pipe, pipe_t tpipe, int id) {
  if (AscendC::machine::core().checks) AscendC::machine::set_event(AscendC::machine::event_between(pipe, tpipe), id);
}
OPWRIGHT_INLINE void asc_sync_wait(pipe_t pipe, pipe_t tpipe, int id) {
  if (AscendC::machine::core().checks) AscendC::machine::wait_event(AscendC::machine::event_between(pipe, tpipe), id);
}
