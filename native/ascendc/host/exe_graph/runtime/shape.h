// exe_graph/runtime/shape.h
// A shape or strides, as infer and tiling functions see them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "graph/types.h"

namespace gert {

// Up to kMaxDimNum numbers; a shape without dimensions is a scalar.
class Shape {
 public:
  static constexpr size_t kMaxDimNum = 25;
  static constexpr int64_t kInvalidDimValue = std::numeric_limits<int64_t>::min();

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) {
    for (const int64_t dim : dims) AppendDim(dim);
  }

  size_t GetDimNum() const { return dim_num_; }
  int64_t GetDim(size_t index) const { return index < kMaxDimNum ? dims_[index] : kInvalidDimValue; }
  const int64_t& operator[](size_t index) const { return dims_[index]; }
  int64_t& operator[](size_t index) { return dims_[index]; }
  void SetDim(size_t index, int64_t value) {
    if (index < kMaxDimNum) dims_[index] = value;
  }
  // More than kMaxDimNum is ignored, as a dimension past the last is.
  void SetDimNum(size_t count) { dim_num_ = std::min(count, kMaxDimNum); }
  Shape& AppendDim(int64_t value) {
    if (dim_num_ < kMaxDimNum) dims_[dim_num_++] = value;
    return *this;
  }
  bool IsScalar() const { return dim_num_ == 0; }
  void SetScalar() { dim_num_ = 0; }
  // The number of elements, 1 for a scalar; negative if a dimension is unknown.
  int64_t GetShapeSize() const {
    int64_t size = 1;
    for (size_t i = 0; i < dim_num_; ++i) {
      if (dims_[i] < 0) return ge::UNKNOWN_DIM;
      size *= dims_[i];
    }
    return size;
  }

  bool operator==(const Shape& other) const {
    return dim_num_ == other.dim_num_ && std::equal(dims_, dims_ + dim_num_, other.dims_);
  }
  bool operator!=(const Shape& other) const { return !(*this == other); }

 private:
  size_t dim_num_ = 0;
  int64_t dims_[kMaxDimNum] = {};
};

// Distances between neighbours of each dimension, in elements.
class Stride {
 public:
  static constexpr size_t kMaxDimNum = Shape::kMaxDimNum;

  Stride() = default;
  Stride(std::initializer_list<int64_t> strides) {
    for (const int64_t stride : strides) AppendStride(stride);
  }

  size_t GetDimNum() const { return values_.GetDimNum(); }
  int64_t GetStride(size_t index) const { return values_.GetDim(index); }
  const int64_t& operator[](size_t index) const { return values_[index]; }
  int64_t& operator[](size_t index) { return values_[index]; }
  void SetStride(size_t index, int64_t value) { values_.SetDim(index, value); }
  void SetDimNum(size_t count) { values_.SetDimNum(count); }
  Stride& AppendStride(int64_t value) {
    values_.AppendDim(value);
    return *this;
  }
  bool operator==(const Stride& other) const { return values_ == other.values_; }
  bool operator!=(const Stride& other) const { return !(*this == other); }

 private:
  Shape values_;
};

}  // namespace gert
