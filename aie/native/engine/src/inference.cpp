// inference.cpp: shapes and types of a layer's outputs, for each choice of the inputs' sizes.
//
// A network whose inputs have several sizes is inferred with some of them; a dimension that differs between them is -1
// to the caller. Small tensors that depend on shapes and constants only have a value in each choice: layers may
// therefore take sizes as tensors.
#include <c10/util/Exception.h>

#include <algorithm>
#include <set>

#include "common/Dims.h"
#include "impl.h"

namespace AscendIE {

namespace {

constexpr int64_t kMostElements = 64;  // of a tensor of sizes

/// In a Python process some operators are inferred by functions in Python; their stack is of no use to the reader.
std::string without_stack(const std::string& text) { return text.substr(0, text.find("\n\nAt:\n")); }

/// The inputs whose values are integers of the layer.
std::set<size_t> inputs_with_sizes(const Attributes& attributes) {
  std::set<size_t> found;
  const auto add = [&](int64_t value) {
    if (IsValueOfInput(value)) found.insert(static_cast<size_t>(value - ValueOfInput(0)));
  };
  for (const auto& entry : attributes) {
    if (const auto* const integer = std::get_if<int64_t>(&entry.second)) add(*integer);
    if (const auto* const list = std::get_if<std::vector<int64_t>>(&entry.second)) {
      std::for_each(list->begin(), list->end(), add);
    }
  }
  return found;
}

size_t choices_of(const LayerImpl& layer) {
  size_t choices = 1;
  for (const Tensor* input : layer.inputs) choices = std::max(choices, TensorImpl::of(*input).choices.size());
  return choices;
}

/// The operands with one choice of sizes: values if all have one, otherwise only where the layer needs them.
Tensors operands_of(const LayerImpl& layer, const std::set<size_t>& sizes, size_t choice) {
  Tensors values;
  Tensors operands;
  for (size_t i = 0; i < layer.inputs.size(); ++i) {
    const Inferred& input = TensorImpl::of(*layer.inputs[i]).at(choice);
    if (input.value.defined()) values.push_back(input.value);
    TORCH_CHECK_VALUE(!sizes.count(i) || input.value.defined(), "input ", i,
                      " gives a size: it has to depend on sizes of the inputs and on constants only");
    operands.push_back(sizes.count(i) ? input.value : input.meta);
  }
  return values.size() == layer.inputs.size() ? values : operands;
}

std::string describe_shapes(const Tensors& operands) {
  std::ostringstream text;
  for (const at::Tensor& operand : operands) text << (text.tellp() > 0 ? ", " : "") << operand.sizes();
  return text.str();
}

Tensors infer_choice(const LayerImpl& layer, const Tensors& operands) {
  try {
    return infer(*layer.operation, Call(operands, layer.attributes, {}));
  } catch (const c10::Error& e) {
    TORCH_CHECK_VALUE(false, "with the shapes ", describe_shapes(operands), ": ", e.what_without_backtrace());
  } catch (const std::exception& e) {
    TORCH_CHECK_VALUE(false, "with the shapes ", describe_shapes(operands), ": ", without_stack(e.what()));
  }
}

void expect_alike(const std::vector<Inferred>& choices, size_t output) {
  const at::Tensor& first = choices.front().meta;
  TORCH_CHECK_VALUE(first.dim() <= Dims::MAX_DIMS, "output ", output, " has rank ", first.dim(),
                    ", allowed are at most ", Dims::MAX_DIMS);
  for (const Inferred& choice : choices) {
    TORCH_CHECK_VALUE(choice.meta.dim() == first.dim() && choice.meta.scalar_type() == first.scalar_type(), "output ",
                      output, " has another rank or type with other sizes of the inputs: ", first.scalar_type(),
                      first.sizes(), " and ", choice.meta.scalar_type(), choice.meta.sizes());
  }
}

std::vector<std::vector<Inferred>> infer_all(const LayerImpl& layer) {
  TORCH_CHECK_VALUE(layer.inputs.size() >= layer.operation->inputs, "got ", layer.inputs.size(),
                    " inputs, allowed are at least ", layer.operation->inputs);
  const std::set<size_t> sizes = inputs_with_sizes(layer.attributes);
  std::vector<std::vector<Inferred>> outputs;
  for (size_t choice = 0; choice < choices_of(layer); ++choice) {
    const Tensors results = infer_choice(layer, operands_of(layer, sizes, choice));
    TORCH_CHECK_VALUE(choice == 0 || outputs.size() == results.size(), "got ", outputs.size(), " outputs, and ",
                      results.size(), " with other sizes of the inputs");
    outputs.resize(results.size());
    for (size_t i = 0; i < results.size(); ++i) outputs[i].push_back(inferred(results[i]));
  }
  for (size_t i = 0; i < outputs.size(); ++i) expect_alike(outputs[i], i);
  return outputs;
}

}  // namespace

Inferred inferred(const at::Tensor& result) {
  const bool value = !result.is_meta() && result.numel() <= kMostElements;
  return {result.to(at::kMeta), value ? result : at::Tensor()};
}

std::vector<int64_t> TensorImpl::shape() const {
  std::vector<int64_t> shape = meta.sizes().vec();
  for (const Inferred& choice : choices) {
    for (size_t i = 0; i < shape.size(); ++i) {
      if (choice.meta.size(static_cast<int64_t>(i)) != meta.size(static_cast<int64_t>(i))) shape[i] = -1;
    }
  }
  return shape;
}

void TensorImpl::set(std::vector<Inferred> inferred) {
  choices = std::move(inferred);
  meta = choices.front().meta;
}

void LayerImpl::infer() noexcept {
  if (!operation) {
    // A constant, or none of this engine's layers: an error of its own stays.
    if (!refused.empty() && cause.empty()) fail(refused.begin()->second);
    return;
  }
  for (Tensor& output : outputs) TensorImpl::of(output).meta.reset();
  cause.clear();
  error.clear();
  if (!refused.empty()) return fail(refused.begin()->second);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) return fail("input " + std::to_string(i) + " is null");
    if (TensorImpl::of(*inputs[i]).network != network) {
      return fail("input " + std::to_string(i) + " is a tensor of another network");
    }
    if (!TensorImpl::of(*inputs[i]).meta.defined()) return;  // the layer before has the error
  }
  try {
    std::vector<std::vector<Inferred>> results = infer_all(*this);
    while (outputs.size() < results.size()) add_output();
    for (size_t i = 0; i < results.size(); ++i) TensorImpl::of(outputs[i]).set(std::move(results[i]));
  } catch (const c10::Error& e) {
    fail(e.what_without_backtrace());
  }
}

}  // namespace AscendIE
