// passes/prepack_linears.cpp: products by oneDNN, with weights in its blocked layouts.
#include <ATen/core/List.h>
#include <ATen/ops/relu.h>

#include <memory>

#include "operations/linear.h"
#include "passes/graph.h"
#include "passes/onednn.h"
#include "passes/passes.h"

namespace AscendIE {

namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using MaybeText = std::optional<std::string_view>;
using Scalars = c10::List<std::optional<at::Scalar>>;

// Rows of x below which MKL's product of vectors is as fast, and the smallest product that a oneDNN call pays for.
constexpr int64_t kFewRows = 8;
constexpr int64_t kSmallWeight = 128 * 128;

Tensor packed(const Tensor& weight, std::optional<int64_t> rows) {
  static const auto reorder =
      onednn_operator<Tensor(const Tensor&, std::optional<int64_t>)>("mkldnn::_reorder_linear_weight");
  return reorder.call(weight, rows);
}

/// Data that a kernel needs beside the values.
struct PreparedLinear {
  uint32_t x, weight, out;
  std::optional<uint32_t> bias, residual;
  const char* function = "none";
  MaybeText algorithm;
  bool relu = false;  // ATen's: oneDNN's makes 0 of NaN
};

void name_function(const Step& step, PreparedLinear& prepared) {
  const auto found = step.attributes.find("activation");
  if (found == step.attributes.end()) return;
  switch (static_cast<ActivationKind>(std::get<int64_t>(found->second))) {
    case ActivationKind::RELU:
      prepared.relu = true;
      break;
    case ActivationKind::SIGMOID:
      prepared.function = "sigmoid";
      break;
    case ActivationKind::TANH:
      prepared.function = "tanh";
      break;
    case ActivationKind::SWISH:
      prepared.function = "swish";
      break;
    case ActivationKind::GELU:
      prepared.function = "gelu";
      prepared.algorithm = attribute_is(step, "tanh", 1) ? "tanh" : "none";
      break;
    default:
      TORCH_CHECK_VALUE(false, step.name, ": activation ", std::get<int64_t>(found->second),
                        " is none that follows a product: the model is damaged");
  }
}

Tensor run_linear(const PreparedLinear& p, const Tensors& values) {
  const MaybeTensor bias = p.bias ? MaybeTensor(values[*p.bias]) : std::nullopt;
  if (p.residual) {
    static const auto sum =
        onednn_operator<Tensor(const Tensor&, const Tensor&, const Tensor&, const MaybeTensor&, std::string_view)>(
            "mkldnn::_linear_pointwise", "binary");
    return sum.call(values[p.x], values[*p.residual], values[p.weight], bias, "add");
  }
  static const auto plain =
      onednn_operator<Tensor(const Tensor&, const Tensor&, const MaybeTensor&, std::string_view, Scalars, MaybeText)>(
          "mkldnn::_linear_pointwise");
  static const Scalars none;
  return plain.call(values[p.x], values[p.weight], bias, p.function, none, p.algorithm);
}

class LinearPacker {
 public:
  explicit LinearPacker(Program& program) : program_(program), graph_(program) {}

  void run() {
    for (Step& step : program_.steps) {
      if (can_pack(step)) pack(step);
    }
    remove_unused(program_);
  }

 private:
  /// The rows of x; nothing if they are known at run time only.
  std::optional<int64_t> rows(const Step& step) const {
    const std::vector<int64_t>& shape = program_.types[step.inputs[0]].shape;
    int64_t rows = 1;
    for (size_t i = 0; i + 1 < shape.size(); ++i) {
      if (shape[i] < 0) return {};
      rows *= shape[i];
    }
    return rows;
  }

  bool can_pack(const Step& step) const {
    if (!is(step, "Linear") || step.kernel) return false;
    const Tensor weight = graph_.constant(step.inputs[1]);
    if (!weight.defined() || weight.scalar_type() != at::kFloat || weight.numel() < kSmallWeight) return false;
    const size_t operands = 2 + size_t{attribute_is(step, "bias", 1)} + size_t{attribute_is(step, "residual", 1)};
    if (step.inputs.size() != operands || weight.dim() != 2) return false;  // ATen says why
    const auto is_float = [&](uint32_t value) { return program_.types[value].type == at::kFloat; };
    return std::all_of(step.inputs.begin(), step.inputs.end(), is_float) && rows(step).value_or(kFewRows) >= kFewRows;
  }

  void pack(Step& step) {
    Tensor weight = graph_.constant(step.inputs[1]);
    if (attribute_is(step, "b", static_cast<int64_t>(MatrixOperation::NONE))) weight = weight.t().contiguous();
    step.inputs[1] = add_constant(program_, packed(weight, rows(step)));
    step.attributes["b"] = static_cast<int64_t>(MatrixOperation::TRANSPOSE);
    auto prepared = std::make_shared<PreparedLinear>();
    prepared->x = step.inputs[0];
    prepared->weight = step.inputs[1];
    prepared->out = step.outputs[0];
    size_t next = 2;
    if (attribute_is(step, "bias", 1)) prepared->bias = step.inputs[next++];
    if (attribute_is(step, "residual", 1)) prepared->residual = step.inputs[next];
    name_function(step, *prepared);
    step.kernel = [prepared](Tensors& values) {
      Tensor& result = values[prepared->out] = run_linear(*prepared, values);
      if (prepared->relu) at::relu_(result);
    };
  }

  Program& program_;
  Graph graph_;
};

}  // namespace

void prepack_linears(Program& program) {
  if (can_use_onednn(program)) LinearPacker(program).run();
}

}  // namespace AscendIE
