// exe_graph/runtime/infer_shape_range_context.h
// The context of a shape range inference function. The twin's graphs have no ranges, so none is ever called.
#pragma once

#include <cstddef>

#include "exe_graph/runtime/extended_kernel_context.h"
#include "exe_graph/runtime/shape.h"

namespace gert {

template <class T>
class Range {
 public:
  Range() = default;
  Range(T* min, T* max) : min_(min), max_(max) {}
  explicit Range(T* same) : min_(same), max_(same) {}
  const T* GetMin() const { return min_; }
  const T* GetMax() const { return max_; }
  T* GetMin() { return min_; }
  T* GetMax() { return max_; }
  void SetMin(T* min) { min_ = min; }
  void SetMax(T* max) { max_ = max; }

 private:
  T* min_ = nullptr;
  T* max_ = nullptr;
};

class InferShapeRangeContext : public ExtendedKernelContext {
 public:
  const Range<Shape>* GetInputShapeRange(size_t) const { return nullptr; }
  const Range<Shape>* GetOptionalInputShapeRange(size_t) const { return nullptr; }
  const Range<Shape>* GetRequiredInputShapeRange(size_t) const { return nullptr; }
  const Range<Shape>* GetDynamicInputShapeRange(size_t, size_t) const { return nullptr; }
  Range<Shape>* GetOutputShapeRange(size_t) { return nullptr; }
};

}  // namespace gert
