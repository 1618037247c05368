// native/ascendc/kernel/c_api/operands.h
// Tensors of the C++ API for pointers.
#pragma once

#include "c_api/system.h"

namespace AscendC::machine {

// From a pointer into the unified buffer to its end.
template <class T>
OPWRIGHT_INLINE LocalTensor<T> local_operand(T* data) {
  const auto& memory = core().memory[static_cast<size_t>(Memory::kUnified)];
  const auto offset = reinterpret_cast<uint8_t*>(data) - memory.base;
  const bool inside = offset >= 0 && offset < static_cast<int64_t>(memory.bytes);
  const auto rest =
      inside ? static_cast<uint32_t>(memory.bytes - offset) : 0;  // the instruction refuses what is outside
  return LocalTensor<T>::make(data, rest / static_cast<uint32_t>(sizeof(T)), TPosition::VECCALC);
}
template <class T>
OPWRIGHT_INLINE GlobalTensor<T> global_operand(T* data) {
  GlobalTensor<T> result;
  result.SetGlobalBuffer(data);
  return result;
}

}  // namespace AscendC::machine
