// operations/convolutions.cpp: convolutions, also with what passes fused into them.
#include "operations/convolutions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/hardsigmoid.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/tanh.h>
#include <c10/util/Exception.h>
#include <c10/util/accumulate.h>

#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

Tensor convolution(const Call& c) {
  const Convolution parameters(c.attributes(), c.operands().size());
  const auto operand = [&](size_t i) { return i ? c[i] : Tensor(); };
  return parameters.finish(parameters.run(c[0], c[1], operand(parameters.bias)), operand(parameters.residual));
}

void expect_fit(const Tensor& weight, const std::vector<int64_t>& shape, int64_t channels) {
  const int64_t expected = c10::multiply_integers(shape);
  if (weight.numel() == expected) return;
  const int64_t per_channel = channels > 0 ? expected / channels : 0;
  TORCH_CHECK_VALUE(per_channel <= 0 || weight.numel() % per_channel != 0, "the weights are for ",
                    weight.numel() / per_channel, " channels, got ", channels);
  TORCH_CHECK_VALUE(false, "got ", weight.numel(), " weights, allowed are ", expected, ", of the shape ",
                    at::IntArrayRef(shape));
}

const Operation kConvolutionsOperations[] = {
    {"Convolution", 2, [](const Call& c) -> Tensors { return {convolution(c)}; }},
};

}  // namespace

const std::array<Then, 10> kThen{{
    {"relu", 0, nullptr, [](const Tensor& x, double, double) { return at::relu(x); }},
    {"sigmoid", 0, nullptr, [](const Tensor& x, double, double) { return at::sigmoid(x); }},
    {"tanh", 0, nullptr, [](const Tensor& x, double, double) { return at::tanh(x); }},
    {"swish", 0, nullptr, [](const Tensor& x, double, double) { return at::silu(x); }},
    {"hardswish", 0, nullptr, [](const Tensor& x, double, double) { return at::hardswish(x); }},
    {"hardsigmoid", 0, nullptr, [](const Tensor& x, double, double) { return at::hardsigmoid(x); }},
    {"leaky_relu", 1, nullptr, [](const Tensor& x, double a, double) { return at::leaky_relu(x, a); }},
    {"hardtanh", 2, nullptr, [](const Tensor& x, double a, double b) { return at::hardtanh(x, a, b); }},
    {"gelu", 0, "none", [](const Tensor& x, double, double) { return at::gelu(x, "none"); }},
    {"gelu_tanh", 0, "tanh", [](const Tensor& x, double, double) { return at::gelu(x, "tanh"); }},
}};

const Then& then_of(std::string_view name) {
  for (const Then& row : kThen) {
    if (row.name == name) return row;
  }
  TORCH_CHECK_VALUE(false, "a convolution cannot be followed by '", name, "'");
}

Convolution::Convolution(const Attributes& attributes, size_t inputs) {
  const Tensors none;
  const Call c(none, attributes, {});
  kernel = c.list("kernel");
  const size_t rank = kernel.size();
  strides = c.list("strides", std::vector<int64_t>(rank, 1));
  paddings = c.list("paddings", std::vector<int64_t>(rank, 0));
  dilations = c.list("dilations", std::vector<int64_t>(rank, 1));
  output_paddings = c.list("output_paddings", std::vector<int64_t>(rank, 0));
  maps = c.integer("maps");
  groups = c.integer("groups", 1);
  transposed = c.integer("transposed") != 0;
  if (c.integer("residual") != 0) residual = --inputs;
  if (inputs > 2) bias = 2;
  if (c.has("then")) then = c.text("then");
  a = c.real("then_a");
  b = c.real("then_b");
}

std::vector<int64_t> Convolution::weight_shape(int64_t channels) const {
  TORCH_CHECK_VALUE(groups > 0 && channels % groups == 0 && maps % groups == 0, groups, " groups do not divide ",
                    channels, " channels and ", maps, " maps");
  std::vector<int64_t> shape{maps, channels / groups};
  if (transposed) shape = {channels, maps / groups};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  return shape;
}

Tensor Convolution::run(const Tensor& x, const Tensor& weight, const Tensor& bias_values) const {
  const auto rank = static_cast<int64_t>(kernel.size());
  const bool batched = x.dim() == rank + 2;
  TORCH_CHECK_VALUE(batched || x.dim() == rank + 1, "a kernel of rank ", rank, " needs an input of rank ", rank + 2,
                    ", or ", rank + 1, " without a batch, but got ", x.dim());
  const Tensor input = batched ? x : x.unsqueeze(0);
  const std::vector<int64_t> shape = weight_shape(input.size(1));
  expect_fit(weight, shape, input.size(1));
  const Tensor result = at::convolution(input, weight.reshape(shape), bias_values, strides, paddings, dilations,
                                        transposed, output_paddings, groups);
  return batched ? result : result.squeeze(0);
}

Tensor Convolution::finish(Tensor result, const Tensor& residual_values) const {
  if (residual_values.defined()) result = result + residual_values;
  return then.empty() ? result : then_of(then).run(result, a, b);
}

Table convolutions() { return kConvolutionsOperations; }

}  // namespace AscendIE
