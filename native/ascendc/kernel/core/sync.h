// native/ascendc/kernel/core/sync.h
// Order between the pipes of a core, and between cores. Pipes run in program order here, so that the calls within a
// core only report to the checks; those between cores wait.
#pragma once

#include "core/global_tensor.h"
#include "core/local_tensor.h"
#include "core/pipe.h"

namespace AscendC {

template <HardEvent event>
OPWRIGHT_INLINE void SetFlag(int32_t id) {
  if (machine::core().checks) machine::set_event(event, id);
}
template <HardEvent event>
OPWRIGHT_INLINE void WaitFlag(int32_t id) {
  if (machine::core().checks) machine::wait_event(event, id);
}

template <pipe_t source, pipe_t destination>
class TQueSync {
 public:
  OPWRIGHT_INLINE void SetFlag(TEventID id) { AscendC::SetFlag<kEvent>(id); }
  OPWRIGHT_INLINE void WaitFlag(TEventID id) { AscendC::WaitFlag<kEvent>(id); }

 private:
  static constexpr HardEvent kEvent = static_cast<HardEvent>(static_cast<int>(machine::pipe_of(source)) << 4 |
                                                             static_cast<int>(machine::pipe_of(destination)));
};

template <pipe_t pipe>
OPWRIGHT_INLINE void PipeBarrier() {
  if (!machine::core().checks) return;
  machine::barrier_order(pipe == PIPE_ALL ? machine::kAllPipes : static_cast<uint8_t>(machine::pipe_of(pipe)));
}

enum class MemDsbT : uint8_t { ALL = 0, DDR, UB, SEQ };
template <MemDsbT kind>
OPWRIGHT_INLINE void DataSyncBarrier() {
  if (machine::core().checks) machine::barrier_order(machine::kAllPipes);
}

// ---- between cores

struct SyncAllConfig {
  pipe_t triggerPipe = PIPE_ALL;
  pipe_t waitPipe = PIPE_ALL;
};
inline constexpr SyncAllConfig DEFAULT_SYNC_ALL_CONFIG{};

template <bool isAIVOnly = true>
OPWRIGHT_INLINE void SyncAll() {
  machine::sync_all(isAIVOnly, 0);
}
template <bool isAIVOnly, const SyncAllConfig& config>
OPWRIGHT_INLINE void SyncAll() {
  machine::sync_all(isAIVOnly, 0);
}
template <bool isAIVOnly = true>
OPWRIGHT_INLINE void SyncAll(const GlobalTensor<int32_t>&, const LocalTensor<int32_t>&, int32_t usedCores = 0) {
  machine::sync_all(isAIVOnly, static_cast<uint32_t>(usedCores));
}

template <uint8_t modeId, pipe_t pipe>
OPWRIGHT_INLINE void CrossCoreSetFlag(uint16_t flagId) {
  static_assert(modeId <= 2, "CrossCoreSetFlag: Atlas A2 has the modes 0, 1 and 2; docs/ascend_c_api.md");
  machine::set_cross_core(modeId, machine::pipe_of(pipe), flagId);
}
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
OPWRIGHT_INLINE void CrossCoreWaitFlag(uint16_t flagId) {
  machine::wait_cross_core(flagId);
}

// IBSet of a block lets that block's flag be waited for by another one.
template <bool isAIVOnly = true>
OPWRIGHT_INLINE void IBSet(const GlobalTensor<int32_t>& workspace, const LocalTensor<int32_t>&, int32_t blockIdx,
                           int32_t eventID) {
  machine::raise_counter(workspace.data(),
                         static_cast<uint64_t>(static_cast<uint32_t>(blockIdx)) << 32 | static_cast<uint32_t>(eventID));
}
template <bool isAIVOnly = true>
OPWRIGHT_INLINE void IBWait(const GlobalTensor<int32_t>& workspace, const LocalTensor<int32_t>&, int32_t blockIdx,
                            int32_t eventID) {
  machine::await_counter(workspace.data(),
                         static_cast<uint64_t>(static_cast<uint32_t>(blockIdx)) << 32 | static_cast<uint32_t>(eventID),
                         "IBWait");
}

// Blocks one after the other, in the order of their numbers.
OPWRIGHT_INLINE void InitDetermineComputeWorkspace(GlobalTensor<int32_t>&, LocalTensor<int32_t>&) {}
OPWRIGHT_INLINE void WaitPreBlock(GlobalTensor<int32_t>& workspace, LocalTensor<int32_t>&) {
  const uint64_t block = machine::core().block * machine::core().sub_blocks + machine::core().sub_block;
  if (block > 0) machine::await_counter(workspace.data(), block - 1, "WaitPreBlock");
}
OPWRIGHT_INLINE void NotifyNextBlock(GlobalTensor<int32_t>& workspace, LocalTensor<int32_t>&) {
  machine::raise_counter(workspace.data(),
                         machine::core().block * machine::core().sub_blocks + machine::core().sub_block);
}

enum class PipeMode : uint8_t { SCALAR_MODE = 0, MTE3_MODE = 1, MAX };

// Vector cores of a group that wait until all of another group have arrived, any number of times. The workspace has a
// message of 512 bytes for each core that waits; here it only names the barrier. `pipeMode` is how the device sends
// them.
template <PipeMode pipeMode>
class GroupBarrier {
 public:
  OPWRIGHT_INLINE GroupBarrier(GM_ADDR groupWorkspace, uint32_t arriveSizeIn, uint32_t waitSizeIn)
      : workspace_(groupWorkspace), arriving_(arriveSizeIn), waiting_(waitSizeIn) {}
  OPWRIGHT_INLINE void Arrive(uint32_t arriveIndex) {
    check_index("GroupBarrier::Arrive", arriveIndex, arriving_);
    for (uint32_t i = 0; i < waiting_; ++i) machine::raise_counter(message_of(i), arriveIndex);
  }
  OPWRIGHT_INLINE void Wait(uint32_t waitIndex) {
    check_index("GroupBarrier::Wait", waitIndex, waiting_);
    for (uint32_t i = 0; i < arriving_; ++i) machine::await_counter(message_of(waitIndex), i, "GroupBarrier::Wait");
  }
  // Bytes.
  OPWRIGHT_INLINE uint64_t GetWorkspaceLen() { return uint64_t{waiting_} * kMessageBytes; }

 private:
  static constexpr uint32_t kMessageBytes = 512;

  static OPWRIGHT_INLINE void check_index(const char* api, uint32_t index, uint32_t size) {
    if (index >= size) machine::refuse(api, "index ", index, " in a group of ", size, " cores; allowed: 0 to size - 1");
  }
  OPWRIGHT_INLINE const void* message_of(uint32_t index) const { return workspace_ + size_t{index} * kMessageBytes; }

  GM_ADDR workspace_;
  uint32_t arriving_;
  uint32_t waiting_;
};

// Tasks of a stream run one after the other here.
template <pipe_t vector = PIPE_MTE3, pipe_t cube = PIPE_FIX, bool force = false>
OPWRIGHT_INLINE void SetNextTaskStart() {}
template <bool force = false>
OPWRIGHT_INLINE void WaitPreTaskEnd() {}

}  // namespace AscendC
