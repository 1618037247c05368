// inputs.cpp: checks of the declared inputs.
#include "inputs.h"

#include <c10/util/Exception.h>

#include "core/util/prelude.h"

namespace torch_aie::core::conversion {

std::vector<InputType> input_types(const torch::jit::Graph& graph, const torchscript::CompileOptions& options) {
  TORCH_CHECK_VALUE(options.graph_inputs.inputs.size() == 1, "got ", options.graph_inputs.inputs.size(),
                    " profiles of inputs: gears are not supported yet, allowed is 1");
  const InputProfile& inputs = options.graph_inputs.inputs.front();
  const size_t wanted = graph.inputs().size() - 1;  // the first is the module
  TORCH_CHECK_VALUE(inputs.size() == wanted, "got ", inputs.size(), " inputs, but the graph has ", wanted);
  std::vector<InputType> types;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = inputs[i];
    TORCH_CHECK_VALUE(!input.IsShapeRange(), "input ", i, ": ranges of shapes are not supported yet");
    const torch::jit::Value* const value = graph.inputs()[i + 1];
    TORCH_CHECK_TYPE(value->type()->isSubtypeOf(*c10::TensorType::get()), "input ", i, " (%", value->debugName(),
                     ") is ", value->type()->repr_str(), ", allowed is Tensor");
    types.push_back({input.dtype == DataType::UNKNOWN ? at::kFloat : util::toScalarType(input.dtype), input.shape});
  }
  return types;
}

}  // namespace torch_aie::core::conversion
