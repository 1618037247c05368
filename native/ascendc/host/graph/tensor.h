// graph/tensor.h
// ge::Shape, with which host code describes a shape to the tiling functions of high-level APIs. It is not the class of
// the graph engine: those functions are header code of ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "graph/types.h"

namespace ge {
inline namespace ascendc_host {

class Shape {
 public:
  Shape() = default;
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}

  size_t GetDimNum() const { return dims_.size(); }
  // 0 for an index that the shape does not have.
  int64_t GetDim(size_t index) const { return index < dims_.size() ? dims_[index] : 0; }
  graphStatus SetDim(size_t index, int64_t value) {
    if (index >= dims_.size()) return GRAPH_FAILED;
    dims_[index] = value;
    return GRAPH_SUCCESS;
  }
  std::vector<int64_t> GetDims() const { return dims_; }
  // The number of elements; -1 if a dimension is unknown.
  int64_t GetShapeSize() const {
    int64_t size = 1;
    for (const int64_t dim : dims_) {
      if (dim < 0) return UNKNOWN_DIM;
      size *= dim;
    }
    return dims_.empty() ? 0 : size;
  }

 private:
  std::vector<int64_t> dims_;
};

}  // namespace ascendc_host
}  // namespace ge
