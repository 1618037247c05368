// exe_graph/runtime/expand_dims_type.h
// Which axes were added to a shape when its format was changed to one with more dimensions.
#pragma once

#include <cstdint>

#include "exe_graph/runtime/shape.h"
#include "graph/types.h"

namespace gert {

class ExpandDimsType {
 public:
  using AxisIndex = uint64_t;
  static constexpr AxisIndex kMaxExpandSize = 56;

  ExpandDimsType() = default;

  AxisIndex GetFullSize() const { return size_; }
  bool IsExpandIndex(AxisIndex index) const { return index < size_ && ((mask_ >> index) & 1U) != 0; }
  void SetExpandIndex(AxisIndex index) {
    if (index >= kMaxExpandSize) return;
    mask_ |= uint64_t{1} << index;
    if (index >= size_) size_ = index + 1;
  }
  // Puts a dimension of one at each of the axes; a shape that has as many dimensions already stays as it is.
  ge::graphStatus Expand(const Shape& shape, Shape& expanded) const {
    if (shape.GetDimNum() == size_) {
      expanded = shape;
      return ge::GRAPH_SUCCESS;
    }
    Shape result;
    size_t taken = 0;
    for (AxisIndex axis = 0; axis < size_; ++axis) {
      if (!IsExpandIndex(axis) && taken >= shape.GetDimNum()) return ge::GRAPH_FAILED;
      result.AppendDim(IsExpandIndex(axis) ? 1 : shape.GetDim(taken++));
    }
    while (taken < shape.GetDimNum()) result.AppendDim(shape.GetDim(taken++));
    expanded = result;
    return ge::GRAPH_SUCCESS;
  }
  ge::graphStatus Expand(Shape& shape) const { return Expand(Shape(shape), shape); }

  bool operator==(const ExpandDimsType& other) const { return size_ == other.size_ && mask_ == other.mask_; }

 private:
  uint64_t size_ = 0;
  uint64_t mask_ = 0;
};

}  // namespace gert
