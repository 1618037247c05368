// operations.cpp: the table of layers. A new layer is a row here, and a function of Network that adds it.
#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/acos.h>
#include <ATen/ops/adaptive_avg_pool1d.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/adaptive_avg_pool3d.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/asin.h>
#include <ATen/ops/atan.h>
#include <ATen/ops/avg_pool1d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_or.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/bitwise_xor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ceil.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/cosh.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/div.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/hardsigmoid.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/le.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/log.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/max_pool1d.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/max_pool3d.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/prod.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/round.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/selu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sinh.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/std.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tan.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/where.h>
#include <c10/util/Exception.h>

#include <bit>
#include <numeric>

#include "operation.h"

namespace AscendIE {

namespace {

using at::Tensor;

/// Functions in the order of an enum's values.
template <class Kind, class Function, size_t N>
Function select(const Call& call, const char* what, Function (&functions)[N]) {
  const auto kind = static_cast<size_t>(call.integer("kind"));
  TORCH_CHECK_VALUE(kind < N && functions[kind], what, " ", kind, " is none of 0 to ", N - 1);
  return functions[kind];
}

using Unary = Tensor (*)(const Tensor&);
Unary unary_functions[] = {
    at::abs,   at::acos,  at::asin,  at::atan, at::ceil, at::cos,         at::cosh,
    at::erf,   at::exp,   at::floor, at::log,  at::neg,  at::logical_not, at::reciprocal,
    at::round, at::rsqrt, at::sign,  at::sin,  at::sinh, at::sqrt,        at::tan,
};

using Binary = Tensor (*)(const Tensor&, const Tensor&);
Binary binary_functions[] = {
    at::maximum,
    at::minimum,
    [](const Tensor& a, const Tensor& b) { return a + b; },
    [](const Tensor& a, const Tensor& b) { return a - b; },
    at::mul,
    at::div,
    at::lt,
    at::pow,
    at::floor_divide,
    at::remainder,
    at::eq,
    at::gt,
    at::ge,
    at::le,
    at::ne,
    at::logical_or,
    at::logical_and,
    at::bitwise_and,
    at::bitwise_or,
    at::bitwise_xor,
    at::bitwise_right_shift,
};

using CallFunction = Tensor (*)(const Call&);
CallFunction activation_functions[] = {
    [](const Call& c) { return at::relu(c[0]); },
    [](const Call& c) { return at::sigmoid(c[0]); },
    [](const Call& c) { return at::leaky_relu(c[0], c.real("alpha", 0.01)); },
    [](const Call& c) { return at::clamp(c[0] * c.real("alpha", 1.0 / 6) + c.real("beta", 0.5), 0, 1); },
    [](const Call& c) { return at::tanh(c[0]); },
    [](const Call& c) { return at::silu(c[0]); },
    [](const Call& c) { return at::gelu(c[0], c.integer("tanh") ? "tanh" : "none"); },
    [](const Call& c) { return at::elu(c[0], c.real("alpha", 1), c.real("scale", 1), c.real("input_scale", 1)); },
    [](const Call& c) { return at::selu(c[0]); },
    [](const Call& c) { return at::softplus(c[0], c.real("beta", 1), c.real("threshold", 20)); },
    [](const Call& c) { return at::mish(c[0]); },
    [](const Call& c) { return at::hardtanh(c[0], 0, 6); },
};

std::vector<int64_t> every_axis(const Tensor& x) {
  std::vector<int64_t> axes(x.dim());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Tensor reduce(const Call& c) {
  std::vector<int64_t> axes = c.list("axes");
  if (axes.empty()) axes = every_axis(c[0]);
  const bool keep = c.integer("keep") != 0;
  switch (c.kind<ReduceOperation>("kind")) {
    case ReduceOperation::AVG:
      return at::mean(c[0], axes, keep);
    case ReduceOperation::MAX:
      return at::amax(c[0], axes, keep);
    case ReduceOperation::MIN:
      return at::amin(c[0], axes, keep);
    case ReduceOperation::SUM:
      return at::sum(c[0], axes, keep);
    case ReduceOperation::STD:
      return at::std(c[0], axes, /*unbiased=*/true, keep);
    case ReduceOperation::PROD: {
      Tensor result = c[0];
      for (int64_t& axis : axes) axis = axis < 0 ? axis + c[0].dim() : axis;
      std::sort(axes.rbegin(), axes.rend());
      for (const int64_t axis : axes) result = at::prod(result, axis, keep);
      return result;
    }
  }
  TORCH_CHECK_VALUE(false, "reduction ", c.integer("kind"), " is none of 0 to 5");
}

Tensor convolution(const Call& c) {
  const std::vector<int64_t> kernel = c.list("kernel");
  const int64_t rank = static_cast<int64_t>(kernel.size());
  const int64_t groups = c.integer("groups", 1);
  TORCH_CHECK_VALUE(c[0].dim() == rank + 2, "a kernel of rank ", rank, " needs an input of rank ", rank + 2,
                    ", but got ", c[0].dim());
  TORCH_CHECK_VALUE(groups > 0 && c[0].size(1) % groups == 0, groups, " groups do not divide ", c[0].size(1),
                    " channels");
  std::vector<int64_t> shape{c.integer("maps"), c[0].size(1) / groups};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  const std::vector<int64_t> ones(rank, 1);
  return at::convolution(c[0], c[1].reshape(shape), c.operands().size() > 2 ? c[2] : Tensor(), c.list("strides", ones),
                         c.list("paddings", std::vector<int64_t>(rank, 0)), c.list("dilations", ones),
                         /*transposed=*/false, std::vector<int64_t>(rank, 0), groups);
}

Tensor adaptive_average_pool(const Tensor& x, const std::vector<int64_t>& out) {
  switch (out.size()) {
    case 1:
      return at::adaptive_avg_pool1d(x, out);
    case 2:
      return at::adaptive_avg_pool2d(x, out);
    case 3:
      return at::adaptive_avg_pool3d(x, out);
    default:
      TORCH_CHECK_VALUE(false, "the output's size has rank ", out.size(), ", allowed are 1 to 3");
  }
}

Tensor pooling(const Call& c) {
  const std::vector<int64_t> window = c.list("window");
  const auto kind = c.kind<PoolingKind>("kind");
  if (kind == PoolingKind::ADAPTIVE_AVERAGE) return adaptive_average_pool(c[0], c.list("out", window));
  const std::vector<int64_t> stride = c.list("stride", window);
  const std::vector<int64_t> padding = c.list("padding", std::vector<int64_t>(window.size(), 0));
  const std::vector<int64_t> dilation = c.list("dilation", std::vector<int64_t>(window.size(), 1));
  const bool ceil = c.integer("ceil") != 0;
  const bool counts_padding = c.integer("excludes_padding", 1) == 0;
  const bool max = kind == PoolingKind::MAX;
  switch (window.size()) {
    case 1:
      return max ? at::max_pool1d(c[0], window, stride, padding, dilation, ceil)
                 : at::avg_pool1d(c[0], window, stride, padding, ceil, counts_padding);
    case 2:
      return max ? at::max_pool2d(c[0], window, stride, padding, dilation, ceil)
                 : at::avg_pool2d(c[0], window, stride, padding, ceil, counts_padding);
    case 3:
      return max ? at::max_pool3d(c[0], window, stride, padding, dilation, ceil)
                 : at::avg_pool3d(c[0], window, stride, padding, ceil, counts_padding);
    default:
      TORCH_CHECK_VALUE(false, "the window has rank ", window.size(), ", allowed are 1 to 3");
  }
}

Tensor shuffle(const Call& c) {
  Tensor x = c[0];
  if (c.has("first_transpose")) x = x.permute(c.list("first_transpose"));
  if (c.has("reshape")) x = x.reshape(c.list("reshape"));
  if (c.has("second_transpose")) x = x.permute(c.list("second_transpose"));
  return x;
}

Tensor gather(const Call& c) {
  const int64_t axis = c.integer("axis");
  std::vector<int64_t> shape = c[0].sizes().vec();
  TORCH_CHECK_INDEX(axis >= 0 && axis < c[0].dim(), "axis ", axis, " is none of 0 to ", c[0].dim() - 1);
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, c[1].sizes().begin(), c[1].sizes().end());
  return at::index_select(c[0], axis, c[1].reshape(-1)).reshape(shape);
}

Tensor softmax(const Call& c) {
  const auto axes = static_cast<uint64_t>(c.integer("axes", c[0].dim() > 1 ? 2 : 1));
  TORCH_CHECK_VALUE(std::popcount(axes) == 1, "the mask of axes ", axes, " has to have one bit set");
  return at::softmax(c[0], std::countr_zero(axes));
}

Tensor quantize(const Call& c) {
  return at::clamp(at::round(c[0] * c.real("scale") + c.real("offset")), -128, 127).to(at::kChar);
}

Tensor shape(const Call& c) {
  const at::ScalarType type = scalar_type(c.has("type") ? c.kind<DataType>("type") : DataType::INT32);
  Tensor sizes = at::empty({c[0].dim()}, type);
  for (int64_t i = 0; i < c[0].dim(); ++i) sizes.select(0, i).fill_(c[0].size(i));
  return sizes;
}

Tensor transposed(const Tensor& x, int64_t operation) { return operation == 0 ? x : x.transpose(-2, -1); }

const Operation kOperations[] = {
    {"Activation", 1,
     [](const Call& c) -> Tensors { return {select<ActivationKind>(c, "activation", activation_functions)(c)}; }},
    {"Cast", 1, [](const Call& c) -> Tensors { return {c[0].to(c.type("type"))}; }},
    {"Clip", 1, [](const Call& c) -> Tensors { return {at::clamp(c[0], c.real("low"), c.real("high"))}; }},
    {"Concatenation", 1, [](const Call& c) -> Tensors { return {at::cat(c.operands(), c.integer("axis"))}; }},
    {"Convolution", 2, [](const Call& c) -> Tensors { return {convolution(c)}; }},
    {"Cumsum", 1, [](const Call& c) -> Tensors { return {at::cumsum(c[0], c.integer("axis"), c[0].scalar_type())}; }},
    {"ElementWise", 2,
     [](const Call& c) -> Tensors {
       return {select<ElementWiseOperation>(c, "element-wise operation", binary_functions)(c[0], c[1])};
     }},
    {"Gather", 2, [](const Call& c) -> Tensors { return {gather(c)}; }},
    {"MatrixMultiply", 2,
     [](const Call& c) -> Tensors {
       return {at::matmul(transposed(c[0], c.integer("a")), transposed(c[1], c.integer("b")))};
     }},
    {"Pooling", 1, [](const Call& c) -> Tensors { return {pooling(c)}; }},
    {"Quantize", 1, [](const Call& c) -> Tensors { return {quantize(c)}; }},
    {"Reduce", 1, [](const Call& c) -> Tensors { return {reduce(c)}; }},
    {"Select", 3, [](const Call& c) -> Tensors { return {at::where(c[0], c[1], c[2])}; }},
    {"Shape", 1, [](const Call& c) -> Tensors { return {shape(c)}; }},
    {"Shuffle", 1, [](const Call& c) -> Tensors { return {shuffle(c)}; }},
    {"SoftMax", 1, [](const Call& c) -> Tensors { return {softmax(c)}; }},
    {"Unary", 1,
     [](const Call& c) -> Tensors { return {select<UnaryOperation>(c, "unary operation", unary_functions)(c[0])}; }},
};

}  // namespace

const Operation* find_operation(std::string_view name) {
  for (const Operation& operation : kOperations) {
    if (operation.name == name) return &operation;
  }
  return nullptr;
}

}  // namespace AscendIE
