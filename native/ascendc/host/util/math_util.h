// util/math_util.h
// Divisions that tiling makes.
#pragma once

#include <numeric>

namespace Ops {
namespace Base {

// Rounds up; 0 for a divisor that is 0.
template <class T, class U>
constexpr T CeilDiv(T value, U divisor) {
  return divisor == 0 ? T{0} : static_cast<T>((value + divisor - 1) / divisor);
}
template <class T, class U>
constexpr T CeilAlign(T value, U multiple) {
  return static_cast<T>(CeilDiv(value, multiple) * multiple);
}
template <class T, class U>
constexpr T FloorDiv(T value, U divisor) {
  return divisor == 0 ? T{0} : static_cast<T>(value / divisor);
}
template <class T, class U>
constexpr T FloorAlign(T value, U multiple) {
  return static_cast<T>(FloorDiv(value, multiple) * multiple);
}

}  // namespace Base
}  // namespace Ops
