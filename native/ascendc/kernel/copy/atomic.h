// native/ascendc/kernel/copy/atomic.h
// Updates of the value in global memory by copies. Each element is updated as a whole, whichever block comes
// first.
#pragma once

#include <type_traits>

#include "copy/params.h"
#include "core/machine.h"

namespace AscendC {
namespace machine::copy {

template <class T>
constexpr AtomicDtype atomic_type() {
  if constexpr (std::is_same_v<T, float>) return AtomicDtype::ATOMIC_F32;
  if constexpr (std::is_same_v<T, half>) return AtomicDtype::ATOMIC_F16;
  if constexpr (std::is_same_v<T, int16_t>) return AtomicDtype::ATOMIC_S16;
  if constexpr (std::is_same_v<T, int32_t>) return AtomicDtype::ATOMIC_S32;
  if constexpr (std::is_same_v<T, int8_t>) return AtomicDtype::ATOMIC_S8;
  if constexpr (std::is_same_v<T, bfloat16_t>) return AtomicDtype::ATOMIC_BF16;
  return AtomicDtype::ATOMIC_NONE;
}

template <class T>
OPWRIGHT_INLINE void set_atomic(Update update) {
  static_assert(
      atomic_type<T>() != AtomicDtype::ATOMIC_NONE,
      "atomic copies are of int8_t, int16_t, int32_t, half, bfloat16_t or float: docs/ascend_c_instructions.md");
  core().registers.atomic_operation = update;
  core().registers.atomic_type = static_cast<uint8_t>(atomic_type<T>());
}

}  // namespace machine::copy

template <typename T>
OPWRIGHT_INLINE void SetAtomicAdd() {
  machine::copy::set_atomic<T>(machine::Update::kAdd);
}
template <typename T>
OPWRIGHT_INLINE void SetAtomicMax() {
  machine::copy::set_atomic<T>(machine::Update::kMax);
}
template <typename T>
OPWRIGHT_INLINE void SetAtomicMin() {
  machine::copy::set_atomic<T>(machine::Update::kMin);
}
template <typename T>
OPWRIGHT_INLINE void SetAtomicType() {
  constexpr AtomicDtype type = machine::copy::atomic_type<T>();
  static_assert(
      type != AtomicDtype::ATOMIC_NONE,
      "atomic copies are of int8_t, int16_t, int32_t, half, bfloat16_t or float: docs/ascend_c_instructions.md");
  machine::core().registers.atomic_type = static_cast<uint8_t>(type);
}
OPWRIGHT_INLINE void DisableDmaAtomic() {
  machine::core().registers.atomic_operation = machine::Update::kSet;
  machine::core().registers.atomic_type = 0;
}
// The name that DisableDmaAtomic had before.
OPWRIGHT_INLINE void SetAtomicNone() { DisableDmaAtomic(); }

template <AtomicDtype type, AtomicOp op>
OPWRIGHT_INLINE void SetStoreAtomicConfig() {
  machine::core().registers.atomic_operation =
      type == AtomicDtype::ATOMIC_NONE ? machine::Update::kSet : machine::Update::kAdd;
  machine::core().registers.atomic_type = static_cast<uint8_t>(type);
}
OPWRIGHT_INLINE void GetStoreAtomicConfig(uint16_t& atomicType, uint16_t& atomicOp) {
  atomicType = machine::core().registers.atomic_type;
  atomicOp = 0;
}

}  // namespace AscendC
