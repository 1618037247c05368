// operations/products.cpp: products of matrices.
#include <ATen/ops/matmul.h>
#include <c10/util/Exception.h>

#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

Tensor transposed(const Tensor& x, int64_t operation) { return operation == 0 ? x : x.transpose(-2, -1); }

const Operation kOperations[] = {
    {"MatrixMultiply", 2,
     [](const Call& c) -> Tensors {
       return {at::matmul(transposed(c[0], c.integer("a")), transposed(c[1], c.integer("b")))};
     }},
};

}  // namespace

Table products() { return kOperations; }

}  // namespace AscendIE
