// exe_graph/runtime/eager_op_execution_context.h
// A call of an operator that launches its work itself: its tensors in device memory, and the stream.
#pragma once

#include <cstddef>

#include "exe_graph/runtime/extended_kernel_context.h"
#include "exe_graph/runtime/tensor.h"

namespace opwright::graph_engine {
class CustomCall;
}

namespace gert {

using rtStream = void*;

class __attribute__((visibility("default"))) EagerOpExecutionContext : public ExtendedKernelContext {
 public:
  rtStream GetStream() const;

  // By the number among all instances, of which an absent optional input has none; the others by the number in the
  // operator's prototype. Null for a tensor that the call does not have.
  const Tensor* GetInputTensor(size_t index) const { return at(node().inputs, index); }
  const Tensor* GetRequiredInputTensor(size_t ir_index) const { return GetDynamicInputTensor(ir_index, 0); }
  const Tensor* GetOptionalInputTensor(size_t ir_index) const { return GetDynamicInputTensor(ir_index, 0); }
  const Tensor* GetDynamicInputTensor(size_t ir_index, size_t relative) const {
    return GetInputTensor(input_instance(ir_index, relative));
  }

  // Before MallocOutputTensor the shape and dtype that Meta gave, without memory.
  const Tensor* GetOutputTensor(size_t index) const;
  // Device memory for an output. Null, and the call fails, for another shape or dtype than Meta gave.
  Tensor* MallocOutputTensor(size_t index, const StorageShape& shape, const StorageFormat& format, ge::DataType type);
  // The output is what the input's memory holds when the work has run.
  Tensor* MakeOutputRefInput(size_t output_index, size_t input_index);
  // Device memory until the work has run.
  void* MallocWorkSpace(size_t bytes);

 private:
  friend class opwright::graph_engine::CustomCall;
  EagerOpExecutionContext(opwright::ascendc::Node& node, opwright::graph_engine::CustomCall& call)
      : ExtendedKernelContext(node), call_(&call) {}

  opwright::graph_engine::CustomCall* call_;
};

}  // namespace gert
