// native/ascendc/kernel/core/types.h
// The words of the language and its number types: half, bfloat16_t, int4b_t, and what a tensor's type stands for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ascendc/shared/half.h"

// Qualifiers of the device compiler. On the CPU there is one memory, and any function may call any other.
#ifdef OPWRIGHT_LIST_KERNELS  // preprocessed text that opwright/ascendc/kernel_functions.py reads
#define __global__ opwright_global
#define __vector__ opwright_vector
#define __cube__ opwright_cube
#define __mix__(cube, vector) opwright_mix(cube, vector)
#else
#define __global__
#define __vector__
#define __cube__
#define __mix__(cube, vector)
#endif
#define __aicore__
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __biasbuf__
#define __ssbuf__
#define __inout_pipe__(pipe)
#define __in_pipe__(pipe)
#define __out_pipe__(pipe)
#define __check_sync_alias__
#define __kfc_workspace__
#define GM_ADDR __gm__ uint8_t*
#ifndef __NPU_ARCH__
#define __NPU_ARCH__ 2201  // Atlas A2: cube and vector cores are separate
#endif
#ifndef __CCE_AICORE__
#define __CCE_AICORE__ 220
#endif
#ifndef __DAV_C220__
#define __DAV_C220__
#endif

// Every function of the API: inlined, so that a program counter in the runtime leads, through the inline frames of the
// debug information, to the line of the kernel.
#define OPWRIGHT_INLINE __attribute__((always_inline)) inline

// 16 bits of a float32, without arithmetic of its own: it is converted with AscendC::Cast, ToFloat and ToBfloat16.
struct bfloat16_t {
  uint16_t bits;

  bfloat16_t() = default;
  // Whole numbers may stand for it, as in DataCopyPadExtParams<bfloat16_t>{false, 0, 0, 0}.
  template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer>>>
  bfloat16_t(Integer value) : bfloat16_t(static_cast<float>(value)) {}
  // Small numbers that stand in the source, as zeros in lists of parameters.
  bfloat16_t(int value) : bfloat16_t(static_cast<float>(value)) {}
  // Rounds to nearest even.
  explicit bfloat16_t(float value) {
    uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    const bool nan = (word & 0x7FFFFFFFu) > 0x7F800000u;
    bits = nan ? static_cast<uint16_t>(word >> 16 | 0x40u)
               : static_cast<uint16_t>((word + 0x7FFFu + (word >> 16 & 1u)) >> 16);
  }
  explicit operator float() const {
    const uint32_t word = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
  friend bool operator==(bfloat16_t a, bfloat16_t b) { return static_cast<float>(a) == static_cast<float>(b); }
  friend bool operator!=(bfloat16_t a, bfloat16_t b) { return !(a == b); }
};
static_assert(sizeof(bfloat16_t) == 2 && std::is_trivially_copyable_v<bfloat16_t>);

namespace AscendC {

using ::bfloat16_t;
using ::half;

// A signed number of 4 bits. Two lie in a byte, the first one in the low half: tensors of it count half bytes.
struct int4b_t {
  int8_t storage;

  int4b_t() = default;
  constexpr int4b_t(int value) : storage(static_cast<int8_t>(value << 4) >> 4) {}
  constexpr operator int8_t() const { return storage; }
};
static_assert(sizeof(int4b_t) == 1);
// Both numbers of one byte.
struct int4x2_t {
  uint8_t storage;
};

// How many bits an element of a tensor takes.
template <class T>
inline constexpr uint32_t kBitsOf = std::is_same_v<T, int4b_t> ? 4 : 8 * sizeof(T);

// The bytes that `count` elements take.
template <class T>
constexpr size_t bytes_of(size_t count) {
  return std::is_same_v<T, int4b_t> ? (count + 1) / 2 : count * sizeof(T);
}

namespace machine {

// Number `index` of memory that holds int4b_t.
OPWRIGHT_INLINE int8_t read_nibble(const void* data, size_t index) {
  const auto byte = static_cast<const int8_t*>(data)[index / 2];
  return static_cast<int8_t>(index % 2 == 0 ? static_cast<int8_t>(byte << 4) >> 4 : byte >> 4);
}
OPWRIGHT_INLINE void write_nibble(void* data, size_t index, int8_t value) {
  uint8_t& byte = static_cast<uint8_t*>(data)[index / 2];
  const int nibble = value & 0xF;
  byte = static_cast<uint8_t>(index % 2 == 0 ? (byte & 0xF0) | nibble : (byte & 0x0F) | nibble << 4);
}

// The bits of a number of at most 8 bytes.
template <class T>
OPWRIGHT_INLINE uint64_t bits_of(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

}  // namespace machine

// The type of a tensor's elements: T, or the LiteType of a TensorTrait.
namespace detail {
template <class T, class = void>
struct Primitive {
  using Type = T;
};
template <class T>
struct Primitive<T, std::void_t<typename T::LiteType>> {
  using Type = typename T::LiteType;
};
}  // namespace detail
template <class T>
using PrimT = typename detail::Primitive<T>::Type;

}  // namespace AscendC

using AscendC::int4b_t;
using AscendC::int4x2_t;
