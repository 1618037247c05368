// operations/convolutions.cpp: convolutions.
#include <ATen/TensorOperators.h>
#include <ATen/ops/convolution.h>
#include <c10/util/Exception.h>

#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

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

const Operation kOperations[] = {
    {"Convolution", 2, [](const Call& c) -> Tensors { return {convolution(c)}; }},
};

}  // namespace

Table convolutions() { return kOperations; }

}  // namespace AscendIE
