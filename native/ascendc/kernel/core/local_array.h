// native/ascendc/kernel/core/local_array.h
// `__ubuf__ float x[256];` in a kernel: an array that has its place in a memory of the core while its scope lasts. The
// compiler driver writes the macro (opwright/ascendc/local_arrays.py).
#pragma once

#include "core/pipe.h"

namespace AscendC::machine {

template <Memory memory, class Array>
class LocalArray {
 public:
  OPWRIGHT_INLINE LocalArray()
      : value(*reinterpret_cast<Array*>(take_local("a local array", memory, round_to_block(sizeof(Array))))) {}
  OPWRIGHT_INLINE ~LocalArray() {
    auto& slot = core().memory[static_cast<size_t>(memory)];
    core().used[static_cast<size_t>(memory)] = static_cast<uint32_t>(reinterpret_cast<uint8_t*>(&value) - slot.base);
  }
  LocalArray(const LocalArray&) = delete;
  LocalArray& operator=(const LocalArray&) = delete;

  Array& value;
};

}  // namespace AscendC::machine

#define OPWRIGHT_LOCAL_ARRAY(memory, name, ...)                                                             \
  ::AscendC::machine::LocalArray<::AscendC::machine::Memory::memory, __VA_ARGS__> opwright_array_of_##name; \
  [[maybe_unused]] auto& name = opwright_array_of_##name.value
