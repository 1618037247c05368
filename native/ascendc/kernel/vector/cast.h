// native/ascendc/kernel/vector/cast.h
// Conversion between element types, and the scales that integers are multiplied with on the way.
#pragma once

#include "vector/elementwise.h"

namespace AscendC {
namespace machine::vector {

constexpr uint32_t modes(std::initializer_list<RoundMode> list) {
  uint32_t bits = 0;
  for (const RoundMode mode : list) bits |= 1u << static_cast<int>(mode);
  return bits;
}
inline constexpr uint32_t kNone = modes({RoundMode::CAST_NONE});
inline constexpr uint32_t kDirected = modes(
    {RoundMode::CAST_RINT, RoundMode::CAST_FLOOR, RoundMode::CAST_CEIL, RoundMode::CAST_ROUND, RoundMode::CAST_TRUNC});
inline constexpr uint32_t kAnyMode = ~0u;

// Rounding modes of a conversion, as documented for Atlas A2.
template <class D, class S>
constexpr uint32_t cast_modes() {
  if constexpr (std::is_same_v<D, half> && std::is_same_v<S, int32_t>) return kAnyMode;
  if constexpr (std::is_same_v<D, half> && std::is_same_v<S, float>) {
    return kDirected | kNone | modes({RoundMode::CAST_ODD});
  }
  if constexpr (std::is_same_v<D, half> && std::is_same_v<S, int16_t>) return kDirected | kNone;
  if constexpr (std::is_same_v<D, float> && std::is_same_v<S, int32_t>) return kDirected | kNone;
  if constexpr (std::is_same_v<S, half> && (sizeof(D) == 1)) return kDirected | kNone;
  if constexpr (std::is_same_v<S, half> && std::is_integral_v<D>) return kDirected;
  if constexpr (std::is_same_v<S, bfloat16_t> && std::is_integral_v<D>) return kDirected;
  if constexpr (std::is_same_v<S, float>) return kDirected;
  if constexpr (std::is_same_v<D, float> && std::is_same_v<S, int64_t>) return kDirected;
  return kNone;
}

// The modes in words, for the refusal.
OPWRIGHT_RUNTIME std::string mode_names(uint32_t modes);

template <class T, class U>
OPWRIGHT_INLINE void cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, RoundMode mode, const Lanes& lanes,
                          const UnaryRepeatParams& strides) {
  using D = PrimT<T>;
  using S = PrimT<U>;
  constexpr uint32_t allowed = cast_modes<D, S>();
  if (__builtin_expect((allowed >> static_cast<int>(mode) & 1) == 0, false)) {
    refuse("Cast", "this conversion does not take ", mode_names(1u << static_cast<int>(mode)),
           "; allowed: ", mode_names(allowed));
  }
  Arguments arguments;
  arguments.mode = static_cast<int32_t>(mode);
  unary<Operation::kCast>("Cast", dst, src, lanes, strides, arguments);
}

template <class T, class U>
inline constexpr bool kCastMaskWords = sizeof(PrimT<T>) <= 2 && sizeof(PrimT<U>) <= 2;

}  // namespace machine::vector

template <class T, class U>
OPWRIGHT_INLINE void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode,
                          const uint32_t count) {
  machine::vector::cast(dst, src, roundMode, machine::vector::Lanes::all(count), {});
}
template <class T, class U, bool isSetMask = true>
OPWRIGHT_INLINE void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode,
                          const uint64_t mask[], const uint8_t repeatTime, const UnaryRepeatParams& repeatParams) {
  using namespace machine::vector;
  cast(dst, src, roundMode, Lanes::given(isSetMask, mask, repeatTime, kCastMaskWords<T, U>), repeatParams);
}
template <class T, class U, bool isSetMask = true>
OPWRIGHT_INLINE void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode,
                          const uint64_t mask, const uint8_t repeatTime, const UnaryRepeatParams& repeatParams) {
  using namespace machine::vector;
  cast(dst, src, roundMode, Lanes::given(isSetMask, mask, repeatTime), repeatParams);
}

// ---- of one number: float to half or int32_t

template <typename T, typename U, RoundMode roundMode>
OPWRIGHT_INLINE U Cast(T valueIn) {
  using namespace machine::vector;
  static_assert(std::is_same_v<T, float> && (std::is_same_v<U, half> || std::is_same_v<U, int32_t>),
                "Cast of one number takes float and gives half or int32_t: docs/ascend_c_instructions.md");
  static_assert((cast_modes<U, T>() >> static_cast<int>(roundMode) & 1) != 0 || roundMode == RoundMode::CAST_NONE,
                "Cast of one number does not take this rounding mode: docs/ascend_c_instructions.md");
  U result;
  const void* sources[] = {&valueIn};
  Arguments arguments;
  arguments.mode = static_cast<int32_t>(roundMode);
  compute<Operation::kCast, U, T>(1, &result, sources, arguments);
  return result;
}
// Its former name.
template <typename T, typename U, RoundMode roundMode>
OPWRIGHT_INLINE U ScalarCast(T valueIn) {
  return Cast<T, U, roundMode>(valueIn);
}

// ---- scales

namespace machine::vector {

// One quantisation parameter as the device packs it: the scale, 9 bits of the offset, and whether results are signed.
OPWRIGHT_INLINE uint64_t quantisation_word(float scale, int16_t offset, bool is_signed) {
  uint32_t bits;
  __builtin_memcpy(&bits, &scale, sizeof bits);
  return uint64_t{bits} | (uint64_t{static_cast<uint16_t>(offset)} & 0x1FF) << 37 | uint64_t{is_signed} << 46;
}

struct Dequantisation {
  bool by_vector;
  bool upper_half;  // of each 32-byte block of the destination
  bool is_signed;   // what the destination's type is
};
// int16_t to 8 bits: 16 lanes of a source block go to half a block of the destination.
OPWRIGHT_RUNTIME void dequantise(Instruction& instruction, const char* api, const Operand& dst, const Operand& src,
                                 const Lanes& lanes, const Dequantisation& how);

template <class T, class U>
OPWRIGHT_INLINE void cast_dequant(const LocalTensor<T>& dst, const LocalTensor<U>& src, const Lanes& lanes,
                                  const UnaryRepeatParams& strides, bool by_vector, bool upper_half) {
  using D = PrimT<T>;
  using S = PrimT<U>;
  if constexpr (std::is_same_v<S, int32_t>) {
    static_assert(std::is_same_v<D, half>, "CastDequant: int32_t becomes half; docs/ascend_c_instructions.md");
    Arguments arguments;
    unary<Operation::kCast>("CastDequant", dst, src, lanes, strides, arguments);
  } else {
    static_assert(std::is_same_v<S, int16_t> && (std::is_same_v<D, int8_t> || std::is_same_v<D, uint8_t>),
                  "CastDequant: int16_t becomes int8_t or uint8_t; docs/ascend_c_instructions.md");
    Instruction instruction(Pipe::kVector, "CastDequant");
    dequantise(instruction, "CastDequant", operand("dst", dst, strides.dstBlkStride, strides.dstRepStride),
               operand("src", src, strides.srcBlkStride, strides.srcRepStride), lanes,
               {by_vector, upper_half, std::is_signed_v<D>});
  }
}

}  // namespace machine::vector

OPWRIGHT_INLINE void SetDeqScale(half scale) { machine::core().registers.dequantise_scale = static_cast<float>(scale); }
OPWRIGHT_INLINE void SetDeqScale(float scale, int16_t offset, bool signMode) {
  machine::core().registers.dequantise = machine::vector::quantisation_word(scale, offset, signMode);
}
template <typename T>
OPWRIGHT_INLINE void SetDeqScale(const LocalTensor<T>& vdeq, const VdeqInfo& vdeqInfo) {
  static_assert(sizeof(PrimT<T>) == 8, "SetDeqScale: the tensor of parameters has elements of uint64_t");
  auto* words = reinterpret_cast<uint64_t*>(vdeq.data());
  machine::check_local("SetDeqScale", "vdeq", words, 16 * sizeof(uint64_t));
  machine::scalar_access("SetDeqScale", words, 16 * sizeof(uint64_t), true);
  for (int i = 0; i < 16; i++) {
    words[i] =
        machine::vector::quantisation_word(vdeqInfo.vdeqScale[i], vdeqInfo.vdeqOffset[i], vdeqInfo.vdeqSignMode[i]);
  }
  machine::core().registers.dequantise_vector = words;
}

template <class T, class U, bool isVecDeq = true, bool halfBlock = true>
OPWRIGHT_INLINE void CastDequant(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint32_t count) {
  machine::vector::cast_dequant(dst, src, machine::vector::Lanes::all(count), {}, isVecDeq, halfBlock);
}
template <class T, class U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>
OPWRIGHT_INLINE void CastDequant(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[],
                                 uint8_t repeatTime, const UnaryRepeatParams& repeatParams) {
  using namespace machine::vector;
  cast_dequant(dst, src, Lanes::given(isSetMask, mask, repeatTime, kCastMaskWords<T, U>), repeatParams, isVecDeq,
               halfBlock);
}
template <class T, class U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>
OPWRIGHT_INLINE void CastDequant(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t mask,
                                 uint8_t repeatTime, const UnaryRepeatParams& repeatParams) {
  using namespace machine::vector;
  cast_dequant(dst, src, Lanes::given(isSetMask, static_cast<uint64_t>(mask), repeatTime), repeatParams, isVecDeq,
               halfBlock);
}
// The name that CastDequant had before.
template <class T, class U, bool isVecDeq = true, bool halfBlock = true>
OPWRIGHT_INLINE void CastDeq(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint32_t count) {
  CastDequant<T, U, isVecDeq, halfBlock>(dst, src, count);
}
template <class T, class U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true, class Mask>
OPWRIGHT_INLINE void CastDeq(const LocalTensor<T>& dst, const LocalTensor<U>& src, const Mask& mask, uint8_t repeatTime,
                             const UnaryRepeatParams& repeatParams) {
  CastDequant<T, U, isSetMask, isVecDeq, halfBlock>(dst, src, mask, repeatTime, repeatParams);
}

}  // namespace AscendC
