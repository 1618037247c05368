// passes/fold_scales.cpp: a product or sum with one constant per channel behind a convolution (batch normalization in
// evaluation) becomes part of its weight and bias.
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <optional>

#include "operations/convolutions.h"
#include "passes/graph.h"
#include "passes/passes.h"

namespace AscendIE {

namespace {

using at::Tensor;

/// y = x * scale + shift, one value for each channel; undefined: 1, 0.
struct Affine {
  uint32_t x = 0;
  Tensor scale, shift;
};

/// The constant as one value per channel, if it broadcasts to (N, channels, ...) without a change along other axes.
Tensor per_channel(const Tensor& constant, int64_t rank, int64_t channels) {
  if (!constant.defined() || constant.scalar_type() == at::kBool) return {};
  if (constant.numel() == 1 && constant.dim() <= rank) return constant.reshape({1}).expand({channels});
  const int64_t axis = constant.dim() - rank + 1;  // of the channels
  if (axis < 0 || constant.dim() > rank || constant.numel() != channels || constant.size(axis) != channels) return {};
  return constant.reshape({channels});
}

std::optional<Affine> element_wise(const Graph& graph, const Step& step, int64_t rank, int64_t channels) {
  const auto kind = static_cast<ElementWiseOperation>(std::get<int64_t>(step.attributes.at("kind")));
  const Tensor left = per_channel(graph.constant(step.inputs[0]), rank, channels);
  const Tensor right = per_channel(graph.constant(step.inputs[1]), rank, channels);
  if (left.defined() == right.defined()) return {};
  const Tensor& constant = left.defined() ? left : right;
  const uint32_t x = left.defined() ? step.inputs[1] : step.inputs[0];
  switch (kind) {
    case ElementWiseOperation::ADD:
      return Affine{x, {}, constant};
    case ElementWiseOperation::MUL:
      return Affine{x, constant, {}};
    case ElementWiseOperation::SUB:
      return left.defined() ? Affine{x, -at::ones({channels}, constant.options()), constant} : Affine{x, {}, -constant};
    case ElementWiseOperation::DIV:
      if (left.defined()) return {};
      return Affine{x, constant.to(at::kDouble).reciprocal(), {}};
    default:
      return {};
  }
}

std::optional<Affine> scale(const Graph& graph, const Step& step, int64_t rank, int64_t channels) {
  const Tensors none;
  const Call call(none, step.attributes, {});
  const int64_t axis = call.integer("axis");
  const bool channel_axis = axis == 1 || axis == 1 - rank;
  if (call.kind<ScaleMode>("mode") != ScaleMode::KCHANNEL || !channel_axis) return {};
  Affine affine{step.inputs[0], {}, {}};
  size_t next = 1;
  for (Tensor* part : {&affine.scale, &affine.shift}) {
    const bool given = part == &affine.scale ? call.integer("scale") != 0 : next < step.inputs.size();
    if (!given) continue;
    const Tensor constant = graph.constant(step.inputs[next++]);
    if (!constant.defined() || constant.numel() != channels) return {};
    *part = constant.reshape({channels});
  }
  return affine;
}

std::optional<Affine> affine_of(const Graph& graph, const Step& step, int64_t rank, int64_t channels) {
  if (is(step, "ElementWise")) return element_wise(graph, step, rank, channels);
  if (is(step, "Scale")) return scale(graph, step, rank, channels);
  return {};
}

Tensor scaled_weight(const Convolution& convolution, const Tensor& weight, int64_t channels, const Tensor& scale) {
  const Tensor shaped = weight.reshape(convolution.weight_shape(channels));
  std::vector<int64_t> ones(shaped.dim(), 1);
  if (!convolution.transposed) {
    ones[0] = convolution.maps;
    return shaped * scale.reshape(ones);
  }
  // (channels, maps / groups, ...): row i belongs to group i / (channels / groups).
  const int64_t maps = convolution.maps / convolution.groups;
  ones[1] = maps;
  const Tensor rows = scale.reshape({convolution.groups, maps}).repeat_interleave(channels / convolution.groups, 0);
  ones[0] = channels;
  return shaped * rows.reshape(ones);
}

class ScaleFolder {
 public:
  explicit ScaleFolder(Program& program) : program_(program), graph_(program) {}

  void run() {
    for (Step& step : program_.steps) {
      if (fold(step)) graph_.update();
    }
  }

 private:
  bool fold(Step& step) {
    if (step.inputs.empty() || step.outputs.size() != 1) return false;
    const std::vector<int64_t>& shape = program_.types[step.outputs[0]].shape;
    const auto rank = static_cast<int64_t>(shape.size());
    if (rank < 3 || shape[1] <= 0) return false;
    const std::optional<Affine> affine = affine_of(graph_, step, rank, shape[1]);
    if (!affine) return false;
    Step* const before = graph_.fusible(affine->x, "Convolution");
    if (!before) return false;
    const Convolution convolution(before->attributes, before->inputs.size());
    const auto kernel_rank = static_cast<int64_t>(convolution.kernel.size());
    const Tensor weight = graph_.constant(before->inputs[1]);
    const Tensor bias = convolution.bias ? graph_.constant(before->inputs[2]) : Tensor();
    const bool alone = !convolution.residual && convolution.then.empty();
    if (!alone || !weight.defined() || (convolution.bias && !bias.defined()) || kernel_rank != rank - 2) return false;
    const int64_t channels = program_.types[before->inputs[0]].shape.at(1);
    const ValueType& type = program_.types[before->outputs[0]];
    if (channels <= 0 || type.shape != shape || type.type != program_.types[step.outputs[0]].type) return false;
    absorb(step, *before, convolution, *affine, channels);
    return true;
  }

  void absorb(Step& step, const Step& before, const Convolution& convolution, const Affine& affine, int64_t channels) {
    Tensor weight = graph_.constant(before.inputs[1]);
    Tensor bias =
        convolution.bias ? graph_.constant(before.inputs[2]) : at::zeros({convolution.maps}, weight.options());
    // A number may be of another type than what it is multiplied with.
    if (affine.scale.defined()) {
      const Tensor factors = affine.scale.to(weight.scalar_type());
      weight = scaled_weight(convolution, weight, channels, factors);
      bias = bias * factors;
    }
    if (affine.shift.defined()) bias = bias + affine.shift.to(weight.scalar_type());
    step.operation = before.operation;
    step.attributes = before.attributes;
    step.inputs = {before.inputs[0], affine.scale.defined() ? add_constant(program_, weight) : before.inputs[1],
                   add_constant(program_, bias)};
  }

  Program& program_;
  Graph graph_;
};

}  // namespace

void fold_scales(Program& program) { ScaleFolder(program).run(); }

}  // namespace AscendIE
