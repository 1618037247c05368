// native/ascendc/instructions/arithmetic.h
// Each operation on the numbers of one lane.
#pragma once

#include <cstring>

#include "instructions/functions.h"
#include "instructions/numbers.h"
#include "vector/operations.h"

namespace AscendC::machine::vector {

template <class T>
T scalar_of(const Arguments& arguments) {
  T value;
  std::memcpy(&value, &arguments.scalar, sizeof value);
  return value;
}

template <class W>
W add(W a, W b) {
  if constexpr (std::is_integral_v<W>)
    return wrap<W>(int64_t{a} + b);
  else
    return a + b;
}
template <class W>
W subtract(W a, W b) {
  if constexpr (std::is_integral_v<W>)
    return wrap<W>(int64_t{a} - b);
  else
    return a - b;
}
template <class W>
W multiply(W a, W b) {
  if constexpr (std::is_integral_v<W>)
    return wrap<W>(int64_t{a} * b);
  else
    return a * b;
}
// NaN wins, as it does in the comparison of torch.
template <class W>
W larger(W a, W b) {
  return a > b || a != a ? a : b;
}
template <class W>
W smaller(W a, W b) {
  return a < b || a != a ? a : b;
}
template <class W>
W relu(W a) {
  return a < W{0} ? W{0} : a;
}

// Signed numbers keep their sign bit.
template <class W>
W shift_left(W a, W distance) {
  constexpr int bits = 8 * sizeof(W);
  const auto by = static_cast<std::make_unsigned_t<W>>(distance);
  using Unsigned = std::make_unsigned_t<W>;
  const auto moved = by >= bits ? Unsigned{0} : static_cast<Unsigned>(static_cast<Unsigned>(a) << by);
  if constexpr (std::is_unsigned_v<W>) return moved;
  constexpr auto sign = static_cast<Unsigned>(Unsigned{1} << (bits - 1));
  return static_cast<W>((moved & static_cast<Unsigned>(~sign)) | (static_cast<Unsigned>(a) & sign));
}
template <class W>
W shift_right(W a, W distance, bool rounds) {
  constexpr uint32_t bits = 8 * sizeof(W);
  const uint32_t by = std::min<uint32_t>(static_cast<std::make_unsigned_t<W>>(distance), 63);
  const auto moved = static_cast<W>(int64_t{a} >> by);
  if (!rounds || std::is_unsigned_v<W> || by == 0 || by > bits) return moved;
  return wrap<W>(int64_t{moved} + ((int64_t{a} >> (by - 1)) & 1));
}

template <Operation operation, class W>
W one_source(W a) {
  if constexpr (operation == Operation::kAbs) return std::fabs(a);
  if constexpr (operation == Operation::kExp) return exponential(a);
  if constexpr (operation == Operation::kLn) return logarithm(a);
  if constexpr (operation == Operation::kSqrt) return std::sqrt(a);
  if constexpr (operation == Operation::kRsqrt) return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a)));
  if constexpr (operation == Operation::kReciprocal) return 1.0f / a;
  if constexpr (operation == Operation::kRelu) return relu(a);
  if constexpr (operation == Operation::kNot) return static_cast<W>(~a);
}

template <Operation operation, class W>
W two_sources(W a, W b) {
  if constexpr (operation == Operation::kAdd) return add(a, b);
  if constexpr (operation == Operation::kSub) return subtract(a, b);
  if constexpr (operation == Operation::kMul || operation == Operation::kMulCast) return multiply(a, b);
  if constexpr (operation == Operation::kDiv) return a / b;
  if constexpr (operation == Operation::kMax) return larger(a, b);
  if constexpr (operation == Operation::kMin) return smaller(a, b);
  if constexpr (operation == Operation::kAnd) return static_cast<W>(a & b);
  if constexpr (operation == Operation::kOr) return static_cast<W>(a | b);
  if constexpr (operation == Operation::kAddRelu || operation == Operation::kAddReluCast) return relu(add(a, b));
  if constexpr (operation == Operation::kSubRelu || operation == Operation::kSubReluCast) return relu(subtract(a, b));
}

template <Operation operation, class W>
W with_destination(W a, W b, W dst) {
  if constexpr (operation == Operation::kMulAddDst) return a * b + dst;
  if constexpr (operation == Operation::kFusedMulAdd) return a * dst + b;
  if constexpr (operation == Operation::kMulAddRelu) return relu(a * dst + b);
}

template <Operation operation, class W>
W with_scalar(W a, W scalar, int32_t mode) {
  if constexpr (operation == Operation::kAdds) return add(a, scalar);
  if constexpr (operation == Operation::kMuls) return multiply(a, scalar);
  if constexpr (operation == Operation::kMaxs) return larger(a, scalar);
  if constexpr (operation == Operation::kMins) return smaller(a, scalar);
  if constexpr (operation == Operation::kLeakyRelu) return a >= W{0} ? a : a * scalar;
  if constexpr (operation == Operation::kShiftLeft) return shift_left(a, scalar);
  if constexpr (operation == Operation::kShiftRight) return shift_right(a, scalar, mode != 0);
}

}  // namespace AscendC::machine::vector
