// native/ascendc/kernel/advanced/division.h
// Whole numbers divided and rounded up, under the names that kernels use.
#pragma once

#include <type_traits>

namespace AscendC {

template <class A, class B,
          typename std::enable_if<std::is_integral<A>::value && std::is_integral<B>::value, bool>::type = true>
constexpr auto DivCeil(A number, B unit) -> std::common_type_t<A, B> {
  using T = std::common_type_t<A, B>;
  return unit == 0 ? T{0} : (static_cast<T>(number) + static_cast<T>(unit) - 1) / static_cast<T>(unit);
}
template <class A, class B,
          typename std::enable_if<std::is_integral<A>::value && std::is_integral<B>::value, bool>::type = true>
constexpr auto Ceil(A number, B unit) -> std::common_type_t<A, B> {
  return DivCeil(number, unit);
}

}  // namespace AscendC
