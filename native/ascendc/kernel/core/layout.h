// native/ascendc/kernel/core/layout.h
// Layout: a shape and the strides of its axes, which say where an element lies; Coord: the place of an element. Both
// may be nested: an axis that consists of axes has a tuple of sizes and a tuple of strides.
#pragma once

#include <type_traits>
#include <utility>

#include "core/standard.h"
#include "core/types.h"

namespace AscendC {

template <class... Sizes>
using Shape = Std::tuple<Sizes...>;
template <class... Steps>
using Stride = Std::tuple<Steps...>;
template <class... Places>
using Coord = Std::tuple<Places...>;

template <class... Values>
OPWRIGHT_INLINE constexpr auto MakeShape(const Values&... values) {
  return Shape<Values...>(values...);
}
template <class... Values>
OPWRIGHT_INLINE constexpr auto MakeStride(const Values&... values) {
  return Stride<Values...>(values...);
}
template <class... Values>
OPWRIGHT_INLINE constexpr auto MakeCoord(const Values&... values) {
  return Coord<Values...>(values...);
}

namespace detail {

template <class T>
inline constexpr bool is_tuple = false;
template <class... Values>
inline constexpr bool is_tuple<Std::tuple<Values...>> = true;

// The number of elements of a shape.
template <class Sizes>
constexpr auto product(const Sizes& sizes) {
  if constexpr (is_tuple<Sizes>) {
    return std::apply([](const auto&... size) { return (product(size) * ... * 1); }, sizes);
  } else {
    return sizes;
  }
}

// How far element `place` lies from the first. A single number among several axes counts through them, the first axis
// fastest.
template <class Place, class Sizes, class Steps>
constexpr auto offset_of(const Place& place, const Sizes& sizes, const Steps& steps);

template <size_t axis, class Sizes, class Steps>
constexpr auto offset_of_number(int64_t number, const Sizes& sizes, const Steps& steps) {
  if constexpr (axis + 1 == std::tuple_size_v<Sizes>) {
    return offset_of(number, std::get<axis>(sizes), std::get<axis>(steps));
  } else {
    const auto size = static_cast<int64_t>(product(std::get<axis>(sizes)));
    return offset_of(number % size, std::get<axis>(sizes), std::get<axis>(steps)) +
           offset_of_number<axis + 1>(number / size, sizes, steps);
  }
}

template <class Place, class Sizes, class Steps, size_t... axes>
constexpr auto offset_of_tuple(const Place& place, const Sizes& sizes, const Steps& steps,
                               std::index_sequence<axes...>) {
  return (offset_of(std::get<axes>(place), std::get<axes>(sizes), std::get<axes>(steps)) + ... + 0);
}

template <class Place, class Sizes, class Steps>
constexpr auto offset_of(const Place& place, const Sizes& sizes, const Steps& steps) {
  if constexpr (is_tuple<Place>) {
    static_assert(is_tuple<Sizes> && is_tuple<Steps>, "Crd2Idx: the coordinate has more axes than the layout");
    constexpr size_t kAxes = std::tuple_size_v<Place>;
    static_assert(kAxes == std::tuple_size_v<Sizes> && kAxes == std::tuple_size_v<Steps>,
                  "Crd2Idx: coordinate, shape and stride have different numbers of axes");
    return offset_of_tuple(place, sizes, steps, std::make_index_sequence<kAxes>());
  } else if constexpr (is_tuple<Sizes>) {
    return offset_of_number<0>(static_cast<int64_t>(place), sizes, steps);
  } else {
    return place * steps;
  }
}

}  // namespace detail

template <class ShapeType = Shape<>, class StrideType = Stride<>>
struct Layout {
  using shape = ShapeType;
  using stride = StrideType;

  constexpr Layout(const ShapeType& shape_in = {}, const StrideType& stride_in = {})
      : shape_(shape_in), stride_(stride_in) {}

  constexpr decltype(auto) GetShape() { return (shape_); }
  constexpr decltype(auto) GetShape() const { return (shape_); }
  constexpr decltype(auto) GetStride() { return (stride_); }
  constexpr decltype(auto) GetStride() const { return (stride_); }
  constexpr auto layout() const { return *this; }
  // Elements.
  constexpr auto Size() const { return detail::product(shape_); }

  template <class Place>
  constexpr auto operator()(const Place& place) const {
    return detail::offset_of(place, shape_, stride_);
  }

 private:
  ShapeType shape_;
  StrideType stride_;
};

template <class ShapeType, class StrideType>
OPWRIGHT_INLINE constexpr auto MakeLayout(const ShapeType& shape, const StrideType& stride) {
  return Layout<ShapeType, StrideType>(shape, stride);
}
template <class Place, class ShapeType, class StrideType>
OPWRIGHT_INLINE constexpr auto Crd2Idx(const Place& coord, const Layout<ShapeType, StrideType>& layout) {
  return layout(coord);
}
template <class Place, class ShapeType, class StrideType>
OPWRIGHT_INLINE constexpr auto Crd2Idx(const Place& coord, const ShapeType& shape, const StrideType& stride) {
  return detail::offset_of(coord, shape, stride);
}

template <class T>
struct is_layout : std::bool_constant<false> {};
template <class ShapeType, class StrideType>
struct is_layout<Layout<ShapeType, StrideType>> : std::bool_constant<true> {};
template <class T>
inline constexpr bool is_layout_v = is_layout<T>::value;

}  // namespace AscendC
