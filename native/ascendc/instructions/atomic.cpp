// native/ascendc/instructions/atomic.cpp
#include "instructions/atomic.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "instructions/arithmetic.h"

namespace AscendC::machine::copy {
namespace {

template <size_t size>
struct WordOf;
template <>
struct WordOf<1> {
  using Type = uint8_t;
};
template <>
struct WordOf<2> {
  using Type = uint16_t;
};
template <>
struct WordOf<4> {
  using Type = uint32_t;
};

template <class T>
T combined(T old, T value, Update update) {
  using W = vector::Wide<T>;
  const W a = static_cast<W>(old);
  const W b = static_cast<W>(value);
  switch (update) {
    case Update::kMax:
      return static_cast<T>(vector::larger(a, b));
    case Update::kMin:
      return static_cast<T>(vector::smaller(a, b));
    default:
      return static_cast<T>(vector::add(a, b));
  }
}

template <class T>
void update_one(std::byte* address, T value, Update update) {
  using Word = typename WordOf<sizeof(T)>::Type;
  auto* word = reinterpret_cast<Word*>(address);
  Word old = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(word, &old, std::bit_cast<Word>(combined(std::bit_cast<T>(old), value, update)),
                                      true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
  }
}

template <class T>
void update_all(std::byte* dst, const std::byte* src, uint32_t bytes, Update update) {
  for (uint32_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
    T value;
    std::memcpy(&value, src + at, sizeof value);
    update_one(dst + at, value, update);
  }
}

}  // namespace

void update(const char* api, std::byte* dst, const std::byte* src, uint32_t bytes) {
  const Registers& registers = core().registers;
  const Update how = registers.atomic_operation;
  switch (static_cast<AtomicDtype>(registers.atomic_type)) {
    case AtomicDtype::ATOMIC_F32:
      return update_all<float>(dst, src, bytes, how);
    case AtomicDtype::ATOMIC_F16:
      return update_all<half>(dst, src, bytes, how);
    case AtomicDtype::ATOMIC_S16:
      return update_all<int16_t>(dst, src, bytes, how);
    case AtomicDtype::ATOMIC_S32:
      return update_all<int32_t>(dst, src, bytes, how);
    case AtomicDtype::ATOMIC_S8:
      return update_all<int8_t>(dst, src, bytes, how);
    case AtomicDtype::ATOMIC_BF16:
      return update_all<bfloat16_t>(dst, src, bytes, how);
    default:
      refuse(api,
             "an atomic operation is set, but no type: name it in SetAtomicAdd<T>, SetAtomicMax<T> or "
             "SetAtomicMin<T>");
  }
}

}  // namespace AscendC::machine::copy
