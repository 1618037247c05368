// exe_graph/runtime/infer_shape_context.h
// The context that a shape inference function reads and sets.
#pragma once

#include <cstddef>

#include "exe_graph/runtime/extended_kernel_context.h"
#include "exe_graph/runtime/shape.h"
#include "exe_graph/runtime/tensor.h"

namespace gert {

class InferShapeContext : public ExtendedKernelContext {
 public:
  explicit InferShapeContext(opwright::ascendc::Node& node) : ExtendedKernelContext(node) {}

  // Null for a tensor that is absent. The data of a tensor is null unless inference depends on the input's values.
  const Shape* GetInputShape(size_t index) const { return shape_of(GetInputTensor(index)); }
  const Shape* GetRequiredInputShape(size_t ir_index) const { return GetDynamicInputShape(ir_index, 0); }
  const Shape* GetOptionalInputShape(size_t ir_index) const { return GetDynamicInputShape(ir_index, 0); }
  const Shape* GetDynamicInputShape(size_t ir_index, size_t relative) const {
    return shape_of(GetDynamicInputTensor(ir_index, relative));
  }
  const Tensor* GetInputTensor(size_t index) const { return at(node().inputs, index); }
  const Tensor* GetRequiredInputTensor(size_t ir_index) const { return GetDynamicInputTensor(ir_index, 0); }
  const Tensor* GetOptionalInputTensor(size_t ir_index) const { return GetDynamicInputTensor(ir_index, 0); }
  const Tensor* GetDynamicInputTensor(size_t ir_index, size_t relative) const {
    return GetInputTensor(input_instance(ir_index, relative));
  }
  Shape* GetOutputShape(size_t index) {
    StorageShape* const shape = at(node().outputs, index);
    return shape == nullptr ? nullptr : &shape->MutableOriginShape();
  }

 private:
  static const Shape* shape_of(const Tensor* tensor) { return tensor == nullptr ? nullptr : &tensor->GetOriginShape(); }
};

using InferShapeKernelContext = InferShapeContext;

}  // namespace gert
