// native/ascendc/kernel/core/machine.h
// Kernel code's view of the core that it runs on, and how an instruction reports to the checks what it touches.
// The functions without a body are in libascendc_runtime.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <type_traits>

#include "core/position.h"
#include "core/registers.h"
#include "core/types.h"

#define OPWRIGHT_RUNTIME __attribute__((visibility("default")))

namespace AscendC {

class TPipe;

namespace machine {

enum class CoreKind : uint8_t { kVector, kCube };

struct MemorySpan {
  uint8_t* base;
  uint32_t bytes;
};

inline constexpr size_t kRegisterBytes = 4096;
static_assert(sizeof(Registers) <= kRegisterBytes);

// One AIC or AIV core that executes a block. Belongs to the thread that runs it.
struct Core {
  explicit Core(Registers& mine) : registers(mine) {}

  uint32_t block = 0;  // of a mix kernel: of the AI core, which has several cores
  uint32_t blocks = 1;
  uint32_t sub_block = 0;   // which of the AI core's vector cores
  uint32_t sub_blocks = 1;  // vector cores per AI core; 1 for kernels that are not mixed
  CoreKind kind = CoreKind::kVector;
  bool mixed = false;
  bool checks = false;  // and the timeline: both follow each instruction
  MemorySpan memory[kMemories] = {};
  uint32_t used[kMemories] = {};        // what the TPipe has given out
  uint8_t events[kPipes][kPipes] = {};  // event ids in use, a bit each
  Registers& registers;  // in memory of the runtime, kRegisterBytes; laid out as the kernel's headers say
  TPipe* pipe = nullptr;
  uint64_t tiling_key = 0;
  uint8_t* system_workspace = nullptr;
  // Device addresses lie in [device_begin, device_begin + device_bytes); host code reaches them at this distance.
  uintptr_t device_begin = 0;
  uintptr_t device_bytes = 0;
  intptr_t device_distance = 0;
};

extern thread_local Core* current_core OPWRIGHT_RUNTIME __attribute__((tls_model("initial-exec")));

OPWRIGHT_INLINE Core& core() { return *current_core; }

// ---- faults of the kernel

// Ends the launch with an error. `api` is the call as the kernel wrote it; `text` says what was given and what is
// allowed. The place of the call is found by the runtime.
[[noreturn]] OPWRIGHT_RUNTIME void refuse_text(const char* api, const std::string& text);

template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void refuse(const char* api, const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  refuse_text(api, out.str());
}

// ---- addresses

// Where the CPU reaches an address that a kernel got: aliases and host memory as they are, device addresses translated.
template <class T>
OPWRIGHT_INLINE T* host_address(T* address) {
  const uintptr_t value = reinterpret_cast<uintptr_t>(address);
  if (value - core().device_begin < core().device_bytes) {
    return reinterpret_cast<T*>(value + static_cast<uintptr_t>(core().device_distance));
  }
  return address;
}

// A copy's global side: always checked to lie in memory that exists. `address` is one that the CPU reaches.
OPWRIGHT_RUNTIME void check_global(const char* api, const char* operand, const void* address, uint64_t bytes);
// A copy's local side: always checked to lie in the memories of this core.
OPWRIGHT_RUNTIME void check_local(const char* api, const char* operand, const void* address, uint64_t bytes);

// The start of a memory of this core, plus `offset` bytes.
OPWRIGHT_INLINE uint8_t* local_address(Memory memory, uint32_t offset) {
  return core().memory[static_cast<size_t>(memory)].base + offset;
}

// ---- instructions

// Bytes that an operand covers: `repeats` times `blocks` runs of `bytes` bytes, at these distances in bytes.
struct Region {
  const void* base;
  uint32_t bytes;
  uint32_t blocks = 1;
  int64_t block_stride = 0;
  uint32_t repeats = 1;
  int64_t repeat_stride = 0;
  MemorySpan buffer = {};  // that the operand's tensor was got from; without one where it has a fixed address
};

enum class Access : uint8_t { kRead, kWrite, kAtomic };

OPWRIGHT_RUNTIME void begin_instruction(Pipe pipe, const char* api);
OPWRIGHT_RUNTIME void access(const char* operand, const Region& region, Access kind);
OPWRIGHT_RUNTIME void unaligned(const char* operand, const void* address, size_t bytes);

// One instruction of a pipe. Name what it reads before what it writes. With checks off it costs one predictable branch.
class Instruction {
 public:
  OPWRIGHT_INLINE Instruction(Pipe pipe, const char* api) : active_(core().checks) {
    if (__builtin_expect(active_, false)) begin_instruction(pipe, api);
  }
  OPWRIGHT_INLINE bool active() const { return active_; }
  OPWRIGHT_INLINE void reads(const char* operand, const Region& region) {
    if (__builtin_expect(active_, false)) access(operand, region, Access::kRead);
  }
  OPWRIGHT_INLINE void writes(const char* operand, const Region& region) {
    if (__builtin_expect(active_, false)) {
      access(operand, region, core().registers.atomic_operation != Update::kSet ? Access::kAtomic : Access::kWrite);
    }
  }
  // An atomic addition or the like, whatever SetAtomicAdd has set.
  OPWRIGHT_INLINE void updates(const char* operand, const Region& region) {
    if (__builtin_expect(active_, false)) access(operand, region, Access::kAtomic);
  }
  // `address` must be a multiple of `bytes`: of a local operand counted from the start of its memory.
  OPWRIGHT_INLINE void aligned(const char* operand, const void* address, size_t bytes) {
    if (__builtin_expect(active_, false)) unaligned(operand, address, bytes);
  }

 private:
  const bool active_;
};

// One scalar access, as GetValue and SetValue make it.
OPWRIGHT_INLINE void scalar_access(const char* api, const void* address, uint32_t bytes, bool write,
                                   MemorySpan buffer = {}) {
  if (__builtin_expect(core().checks, false)) {
    begin_instruction(Pipe::kScalar, api);
    access("element", Region{address, bytes, 1, 0, 1, 0, buffer}, write ? Access::kWrite : Access::kRead);
  }
}
// The scalar access that was reported last went through the data cache of the core, which writes whole lines.
OPWRIGHT_RUNTIME void note_cached_write(const void* address);

// ---- order between pipes (only called while checks are on)

// `from` says under a key that all it did so far is done, and `to` waits for that; the two hold an event id in between.
OPWRIGHT_RUNTIME void signal_order(const void* key, Pipe from, Pipe to);
OPWRIGHT_RUNTIME void await_order(const void* key, Pipe to);
// FreeAllEvent: gives back the event ids of a queue's buffers.
OPWRIGHT_RUNTIME void drop_order(const void* key);
OPWRIGHT_RUNTIME void barrier_order(uint8_t pipe_or_all);

// ---- life of local buffers (only called while checks are on)

enum class BufferState : uint8_t { kFree, kAllocated, kQueued, kTaken };
// `producer` may go on reading a tensor that it has put into a queue.
OPWRIGHT_RUNTIME void note_buffer(const uint8_t* base, uint32_t bytes, BufferState state, Pipe producer);
OPWRIGHT_RUNTIME void forget_buffers(Memory memory);
// The kernel took the address of local memory: what it writes through it nobody sees.
OPWRIGHT_RUNTIME void note_raw_address(const void* address);

// ---- order between cores

// Flags for the functions beside PipeBarrier: SetFlag and WaitFlag of an event id.
OPWRIGHT_RUNTIME void set_event(HardEvent event, int32_t id);
OPWRIGHT_RUNTIME void wait_event(HardEvent event, int32_t id);

// Waits until all cores of the launch (all vector cores if `vector_only`) are here.
OPWRIGHT_RUNTIME void sync_all(bool vector_only, uint32_t used_cores);
// CrossCoreSetFlag and CrossCoreWaitFlag.
OPWRIGHT_RUNTIME void set_cross_core(uint8_t mode, Pipe pipe, uint16_t flag);
OPWRIGHT_RUNTIME void wait_cross_core(uint16_t flag);
// A counter of the launch that any core may raise and wait for; `key` names it (IBSet, WaitPreBlock, messages).
OPWRIGHT_RUNTIME void raise_counter(const void* key, uint64_t number);
OPWRIGHT_RUNTIME void await_counter(const void* key, uint64_t number, const char* api);

// Memory of the launch that all cores see, zero at first: the first caller with a key makes it.
OPWRIGHT_RUNTIME void* shared_memory(uint64_t key, size_t bytes);

// ---- kinds of kernels

enum class KernelKind : int32_t { kUnknown = -1, kVector, kCube, kMix10, kMix01, kMix11, kMix12 };

// Notes, at load, that the code of this library uses the cube unit (Mmad, LoadData, Fixpipe …) or must run mixed
// (Matmul in a vector kernel). A kernel without a declared type gets its kind from that.
OPWRIGHT_RUNTIME bool note_use(const void* in_library, bool cube, bool vector);
// Notes KERNEL_TASK_TYPE. `function` is __PRETTY_FUNCTION__ of a member of a class in the kernel; key ~0 is the
// default.
OPWRIGHT_RUNTIME bool note_kind(const char* function, uint64_t key, KernelKind kind);
// Drops both notes of a library that is unloaded: another one may be loaded at its address.
OPWRIGHT_RUNTIME void forget_library(const void* in_library);

}  // namespace machine
}  // namespace AscendC
