// native/ascendc/kernel/core/allocator.h
// LocalMemAllocator: tensors one after the other in a memory of the core, for kernels without a TPipe.
#pragma once

#include "core/pipe.h"

namespace AscendC {

template <Hardware hard = Hardware::UB>
class LocalMemAllocator {
 public:
  OPWRIGHT_INLINE LocalMemAllocator() = default;
  OPWRIGHT_INLINE uint32_t GetCurAddr() const { return used_; }

  template <class T, uint32_t tileSize>
  OPWRIGHT_INLINE LocalTensor<T> Alloc() {
    return take<T>(kPosition, tileSize);
  }
  template <TPosition pos, class T, uint32_t tileSize>
  OPWRIGHT_INLINE LocalTensor<T> Alloc() {
    return take<T>(pos, tileSize);
  }
  template <class T>
  OPWRIGHT_INLINE LocalTensor<T> Alloc(uint32_t tileSize) {
    return take<T>(kPosition, tileSize);
  }
  template <TPosition pos, class T>
  OPWRIGHT_INLINE LocalTensor<T> Alloc(uint32_t tileSize) {
    return take<T>(pos, tileSize);
  }

 private:
  static constexpr machine::Memory kMemory = machine::memory_of(hard);
  static_assert(kMemory != machine::Memory::kNone, "LocalMemAllocator gives local memory");
  static constexpr TPosition kPosition = hard == Hardware::UB     ? TPosition::VECCALC
                                         : hard == Hardware::L1   ? TPosition::A1
                                         : hard == Hardware::L0A  ? TPosition::A2
                                         : hard == Hardware::L0B  ? TPosition::B2
                                         : hard == Hardware::L0C  ? TPosition::CO1
                                         : hard == Hardware::BIAS ? TPosition::C2
                                                                  : TPosition::C2PIPE2GM;

  template <class T>
  OPWRIGHT_INLINE LocalTensor<T> take(TPosition position, uint32_t count) {
    if (machine::memory_of(position) != kMemory) {
      machine::refuse("LocalMemAllocator::Alloc", "the position lies in another memory than the allocator's");
    }
    const uint64_t bytes = machine::round_to_block(bytes_of<PrimT<T>>(count));
    const uint32_t capacity = machine::core().memory[static_cast<size_t>(kMemory)].bytes;
    if (bytes > capacity - used_) {
      machine::refuse("LocalMemAllocator::Alloc", bytes, " bytes more than the ", used_, " in use do not fit in the ",
                      machine::name_of(kMemory), " of ", capacity, " bytes");
    }
    uint8_t* const data = machine::local_address(kMemory, used_);
    if (machine::core().checks) {
      machine::note_buffer(data, static_cast<uint32_t>(bytes), machine::BufferState::kAllocated,
                           machine::Pipe::kVector);
    }
    used_ += static_cast<uint32_t>(bytes);
    return LocalTensor<T>::make(data, count, position, {data, static_cast<uint32_t>(bytes)});
  }

  uint32_t used_ = 0;
};

}  // namespace AscendC
