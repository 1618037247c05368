// operations/products.cpp: products of matrices, and sums of products by Einstein's notation.
#include <ATen/TensorOperators.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <c10/util/Exception.h>

#include "operations/linear.h"
#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

Tensor transposed(const Tensor& x, int64_t operation) { return operation == 0 ? x : x.transpose(-2, -1); }

Tensor linear(const Call& c) {
  const Linear l = linear_of(c);
  const Tensor weight = transposed(c[1], 1 - c.integer("b"));  // (out, in)
  if (c[0].is_meta()) {
    std::vector<int64_t> shape = c[0].sizes().vec();
    shape.back() = weight.size(0);
    return at::empty(shape, c[0].options());
  }
  Tensor y = at::linear(c[0], weight, l.bias);
  if (l.residual.defined()) return y.add_(l.residual);
  if (c.has("activation")) {
    const Tensors operands{std::move(y)};
    const Attributes attributes{{"kind", c.integer("activation")}, {"tanh", c.integer("tanh")}};
    return find_operation("Activation")->run(Call(operands, attributes, {})).front();
  }
  return y;
}

const Operation kProductsOperations[] = {
    {"Einsum", 1, [](const Call& c) -> Tensors { return {at::einsum(c.text("equation"), c.operands())}; },
     Precision::kFull},
    {"Linear", 2, [](const Call& c) -> Tensors { return {linear(c)}; }},
    {"MatrixMultiply", 2,
     [](const Call& c) -> Tensors {
       return {at::matmul(transposed(c[0], c.integer("a")), transposed(c[1], c.integer("b")))};
     }},
};

}  // namespace

Linear linear_of(const Call& c) {
  Linear l;
  size_t next = 2;
  if (c.integer("bias") != 0) l.bias = c[next++];
  if (c.integer("residual") != 0) l.residual = c[next];
  return l;
}

Table products() { return kProductsOperations; }

}  // namespace AscendIE
