// conversion/inputs.h: what the caller declared of a graph's inputs: one shape each, a range of shapes, or gears.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <vector>

#include "conversion/conversion.h"
#include "torch_aie.h"

namespace torch_aie::core::conversion {

/// One for each input of the graph behind the module; throws c10::Error for a declaration that the graph cannot have.
std::vector<InputType> input_types(const torch::jit::Graph& graph, const torchscript::CompileOptions& options);

/// The same with a third choice of the sizes of a range, between its ends.
std::vector<InputType> with_third_choice(std::vector<InputType> inputs);

/// How many choices of sizes a graph is looked at with: 1 if no input has several shapes.
size_t choices(const std::vector<InputType>& inputs);
/// The shape of an input with one choice of sizes.
const std::vector<int64_t>& sample(const InputType& input, size_t choice);
/// The type of an inner value that was seen with the shapes `samples`, one for each choice of the graph's inputs.
InputType inner_type(at::ScalarType type, std::vector<std::vector<int64_t>> samples,
                     const std::vector<InputType>& inputs);

/// Makes the graph throw c10::Error for inputs that are not as declared. Engines check their own inputs: it is for
/// graphs of which libtorch has a part.
void expect_declared(torch::jit::Graph& graph, const std::vector<InputType>& inputs);

}  // namespace torch_aie::core::conversion
