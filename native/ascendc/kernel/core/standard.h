// native/ascendc/kernel/core/standard.h
// AscendC::Std: the parts of the C++ standard library under the language's own name.
#pragma once

#include <algorithm>
#include <cmath>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/types.h"

namespace AscendC::Std {

// Types and type traits that the documentation lists; `using` takes nothing else along.
using std::add_const;
using std::add_const_t;
using std::add_cv;
using std::add_cv_t;
using std::add_lvalue_reference;
using std::add_lvalue_reference_t;
using std::add_pointer;
using std::add_pointer_t;
using std::add_rvalue_reference;
using std::add_rvalue_reference_t;
using std::add_volatile;
using std::add_volatile_t;
using std::bool_constant;
using std::conditional;
using std::conditional_t;
using std::declval;
using std::enable_if;
using std::enable_if_t;
using std::false_type;
using std::forward;
using std::get;
using std::ignore;
using std::index_sequence;
using std::index_sequence_for;
using std::integer_sequence;
using std::integral_constant;
using std::is_array;
using std::is_array_v;
using std::is_base_of;
using std::is_base_of_v;
using std::is_const;
using std::is_const_v;
using std::is_convertible;
using std::is_convertible_v;
using std::is_floating_point;
using std::is_floating_point_v;
using std::is_integral;
using std::is_integral_v;
using std::is_pointer;
using std::is_pointer_v;
using std::is_reference;
using std::is_reference_v;
using std::is_same;
using std::is_same_v;
using std::is_void;
using std::is_void_v;
using std::make_index_sequence;
using std::make_integer_sequence;
using std::make_tuple;
using std::move;
using std::remove_const;
using std::remove_const_t;
using std::remove_cv;
using std::remove_cv_t;
using std::remove_pointer;
using std::remove_pointer_t;
using std::remove_reference;
using std::remove_reference_t;
using std::remove_volatile;
using std::remove_volatile_t;
using std::tie;
using std::true_type;
using std::tuple;
using std::tuple_element;
using std::tuple_element_t;
using std::tuple_size;
using std::tuple_size_v;
using std::void_t;

template <class T, class U>
OPWRIGHT_INLINE constexpr auto max(const T& a, const U& b) {
  return a < b ? b : a;
}
template <class T, class U>
OPWRIGHT_INLINE constexpr auto min(const T& a, const U& b) {
  return b < a ? b : a;
}
template <class T>
OPWRIGHT_INLINE T abs(T value) {
  return value < T(0) ? static_cast<T>(-value) : value;
}
template <class T>
OPWRIGHT_INLINE T sqrt(T value) {
  return static_cast<T>(std::sqrt(static_cast<float>(value)));
}

}  // namespace AscendC::Std

namespace AscendC {

// Names of type traits that samples use without Std.
template <bool condition, class A, class B>
using Conditional = std::conditional<condition, A, B>;
template <class A, class B>
using IsSameType = std::is_same<A, B>;

}  // namespace AscendC
