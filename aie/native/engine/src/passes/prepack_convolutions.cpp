// passes/prepack_convolutions.cpp: convolutions by oneDNN, with weights in its blocked layouts; results are
// channels_last, which ATen's other kernels keep. The plain weights are made again from these when a model is saved.
#include <ATen/core/List.h>
#include <ATen/ops/hardsigmoid.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/mkldnn_reorder_conv2d_weight.h>

#include <algorithm>

#include "operations/convolutions.h"
#include "passes/graph.h"
#include "passes/onednn.h"
#include "passes/passes.h"

namespace AscendIE {

namespace {

using at::IntArrayRef;
using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using MaybeText = std::optional<std::string_view>;
using MaybeScalar = std::optional<at::Scalar>;
using Scalars = c10::List<MaybeScalar>;

/// `weight` is plain, or packed already if it is not transposed.
Tensor packed(const Convolution& c, const Tensor& weight, const ValueType& input) {
  const at::OptionalIntArrayRef size = is_fixed(input.shape) ? at::OptionalIntArrayRef(input.shape) : std::nullopt;
  if (c.transposed) {
    static const auto reorder =
        onednn_operator<Tensor(const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef, int64_t,
                               at::OptionalIntArrayRef)>("mkldnn::_reorder_convolution_transpose_weight");
    return reorder.call(weight, c.paddings, c.output_paddings, c.strides, c.dilations, c.groups, size);
  }
  return at::mkldnn_reorder_conv2d_weight(weight.is_mkldnn() ? weight : weight.to_mkldnn(), c.paddings, c.strides,
                                          c.dilations, c.groups, size);
}

/// Data that a kernel needs beside the values.
struct PreparedConvolution {
  Convolution convolution;
  uint32_t x, weight, bias, residual, out;
  bool residual_dies;  // nobody reads the residual later
  Scalars scalars;
  std::string then = {};
  MaybeText then_name = {}, algorithm = {};
  bool bounds = false;  // `bound` does what follows
};

/// oneDNN's bounds make numbers of NaN, which PyTorch's keep.
bool loses_nan(std::string_view then) { return then == "hardtanh" || then == "hardsigmoid"; }

void bound(const Convolution& c, Tensor& values) {
  if (c.then == "hardtanh") {
    at::hardtanh_(values, c.a, c.b);
  } else {
    at::hardsigmoid_(values);
  }
}

Scalars scalars_of(const Convolution& convolution) {
  Scalars scalars;
  const size_t count = convolution.then.empty() ? 0 : then_of(convolution.then).scalars;
  if (count > 0) scalars.push_back(MaybeScalar(convolution.a));
  if (count > 1) scalars.push_back(MaybeScalar(convolution.b));
  return scalars;
}

Tensor plain(const PreparedConvolution& p, const Tensors& values, const MaybeTensor& bias) {
  const Convolution& c = p.convolution;
  const std::string_view then = p.then_name ? *p.then_name : "none";
  if (c.transposed) {
    static const auto run =
        onednn_operator<Tensor(const Tensor&, const Tensor&, const MaybeTensor&, IntArrayRef, IntArrayRef, IntArrayRef,
                               IntArrayRef, int64_t, std::string_view, Scalars, MaybeText)>(
            "mkldnn::_convolution_transpose_pointwise");
    return run.call(values[p.x], values[p.weight], bias, c.paddings, c.output_paddings, c.strides, c.dilations,
                    c.groups, then, p.scalars, p.algorithm);
  }
  static const auto run =
      onednn_operator<Tensor(const Tensor&, const Tensor&, const MaybeTensor&, IntArrayRef, IntArrayRef, IntArrayRef,
                             int64_t, std::string_view, Scalars, MaybeText)>("mkldnn::_convolution_pointwise");
  return run.call(values[p.x], values[p.weight], bias, c.paddings, c.strides, c.dilations, c.groups, then, p.scalars,
                  p.algorithm);
}

Tensor with_residual(const PreparedConvolution& p, Tensors& values, const MaybeTensor& bias) {
  const Convolution& c = p.convolution;
  Tensor& residual = values[p.residual];
  // Sole owner of a dense tensor: its memory may take the result. Inputs and constants have other owners.
  const bool free = p.residual_dies && residual.use_count() == 1 && residual.storage().use_count() == 1 &&
                    residual.is_contiguous(at::MemoryFormat::ChannelsLast);
  if (free) {
    static const auto run =
        onednn_operator<Tensor&(Tensor&, const Tensor&, const Tensor&, const MaybeTensor&, IntArrayRef, IntArrayRef,
                                IntArrayRef, int64_t, std::string_view, MaybeScalar, MaybeText, Scalars, MaybeText)>(
            "mkldnn::_convolution_pointwise_", "binary");
    run.call(residual, values[p.x], values[p.weight], bias, c.paddings, c.strides, c.dilations, c.groups, "add", 1.0,
             p.then_name, p.scalars, p.algorithm);
    return std::move(residual);
  }
  static const auto run =
      onednn_operator<Tensor(const Tensor&, const Tensor&, const Tensor&, const MaybeTensor&, IntArrayRef, IntArrayRef,
                             IntArrayRef, int64_t, std::string_view, MaybeScalar, MaybeText, Scalars, MaybeText)>(
          "mkldnn::_convolution_pointwise", "binary");
  return run.call(values[p.x], residual, values[p.weight], bias, c.paddings, c.strides, c.dilations, c.groups, "add",
                  1.0, p.then_name, p.scalars, p.algorithm);
}

class ConvolutionPacker {
 public:
  explicit ConvolutionPacker(Program& program) : program_(program), graph_(program) {}

  void run() {
    for (Step& step : program_.steps) {
      if (can_pack(step)) pack(step);
    }
    remove_unused(program_);
  }

 private:
  bool can_pack(const Step& step) const {
    if (!is(step, "Convolution") || step.kernel) return false;
    const ValueType& x = program_.types[step.inputs[0]];
    const Tensor weight = graph_.constant(step.inputs[1]);
    // Groups of transposed convolutions have another order of axes.
    if (attribute_is(step, "transposed", 1) && !attribute_is(step, "groups", 1, /*absent=*/1)) return false;
    if (x.shape.size() != 4 || x.shape[1] <= 0 || !weight.defined()) return false;
    const auto is_float = [&](uint32_t value) { return program_.types[value].type == at::kFloat; };
    return is_sound(step) && weight.scalar_type() == at::kFloat &&
           std::all_of(step.inputs.begin(), step.inputs.end(), is_float);
  }

  /// oneDNN's functions take their lists as they are. What is not sound is left to ATen, which says why.
  bool is_sound(const Step& step) const {
    const Convolution c(step.attributes, step.inputs.size());
    const size_t operands = 2 + (c.bias ? 1 : 0) + (c.residual ? 1 : 0);
    if (c.kernel.size() != 2 || step.inputs.size() != operands) return false;
    const auto within = [](const std::vector<int64_t>& list, int64_t least) {
      return list.size() == 2 && std::all_of(list.begin(), list.end(), [&](int64_t size) { return size >= least; });
    };
    const auto shape = [&](size_t input) { return program_.types[step.inputs[input]].shape; };
    if (c.bias && shape(c.bias) != std::vector{c.maps}) return false;
    if (c.residual && shape(c.residual) != program_.types[step.outputs[0]].shape) return false;
    return within(c.strides, 1) && within(c.dilations, 1) && within(c.paddings, 0) && within(c.output_paddings, 0);
  }

  void pack(Step& step) {
    Convolution convolution(step.attributes, step.inputs.size());
    const ValueType x = program_.types[step.inputs[0]];
    const Tensor weight = graph_.constant(step.inputs[1]).reshape(convolution.weight_shape(x.shape[1]));
    step.inputs[1] = add_constant(program_, packed(convolution, weight, x));
    if (convolution.transposed) {
      program_.swapped.push_back(step.inputs[1]);
    } else {
      program_.packed.push_back(
          {step.inputs[1], [convolution, x](const Tensor& now) { return packed(convolution, now, x); }});
    }
    const auto is_residual = [&](uint32_t value) { return value == step.inputs[convolution.residual]; };
    const bool dies = std::any_of(step.last_used.begin(), step.last_used.end(), is_residual);
    const uint32_t bias_value = step.inputs[convolution.bias], residual = step.inputs[convolution.residual];
    auto prepared = std::make_shared<PreparedConvolution>(convolution, step.inputs[0], step.inputs[1], bias_value,
                                                          residual, step.outputs[0], dies, scalars_of(convolution));
    if (loses_nan(convolution.then)) {
      prepared->bounds = true;
      prepared->scalars = Scalars();
    } else if (!convolution.then.empty()) {
      prepared->then = convolution.then == "gelu_tanh" ? "gelu" : convolution.then;
      prepared->then_name = prepared->then;
      if (const char* const algorithm = then_of(convolution.then).algorithm) prepared->algorithm = algorithm;
    }
    step.kernel = [prepared](Tensors& values) {
      const PreparedConvolution& p = *prepared;
      const MaybeTensor bias = p.convolution.bias ? MaybeTensor(values[p.bias]) : std::nullopt;
      values[p.out] = p.convolution.residual ? with_residual(p, values, bias) : plain(p, values, bias);
      if (p.bounds) bound(p.convolution, values[p.out]);
    };
  }

  Program& program_;
  Graph graph_;
};

}  // namespace

void prepack_convolutions(Program& program) {
  if (can_use_onednn(program)) ConvolutionPacker(program).run();
}

}  // namespace AscendIE
