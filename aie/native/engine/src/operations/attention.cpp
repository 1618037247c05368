// operations/attention.cpp: softmax(queries * keys^T * scale + mask) * values, without the products in memory.
#include <ATen/ops/empty.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <c10/util/Exception.h>

#include <utility>

#include "operations/optional.h"
#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

// Inputs: queries (..., L, E), keys (..., S, E), values (..., S, V), perhaps a mask: booleans, true for what is seen,
// or numbers that are added. ATen's fast kernel takes rank 4: batch and heads in front.
Tensor attention(const Call& c) {
  const Tensor &q = c[0], &k = c[1], &v = c[2];
  TORCH_CHECK_VALUE(q.dim() >= 2 && k.dim() == q.dim() && v.dim() == q.dim(), "queries, keys and values have ranks ",
                    q.dim(), ", ", k.dim(), ", ", v.dim(), ", allowed are equal ones of at least 2");
  TORCH_CHECK_VALUE(q.size(-1) == k.size(-1), "queries have size ", q.size(-1), ", keys ", k.size(-1));
  TORCH_CHECK_VALUE(k.size(-2) == v.size(-2), "there are ", k.size(-2), " keys, but ", v.size(-2), " values");
  if (q.is_meta()) {
    std::vector<int64_t> shape = q.sizes().vec();
    shape.back() = v.size(-1);
    return at::empty(shape, q.options());
  }
  const bool three = q.dim() == 3;
  const auto four = [&](const Tensor& x) { return three && x.dim() == 3 ? x.unsqueeze(0) : x; };
  std::optional<Tensor> mask;
  if (c.operands().size() > 3) mask = four(c[3]);
  const Tensor seen = at::scaled_dot_product_attention(four(q), four(k), four(v), mask, 0, c.integer("causal") != 0,
                                                       optional_real(c, "factor"), c.integer("grouped") != 0);
  return three ? seen.squeeze(0) : seen;
}

const Operation kAttentionOperations[] = {
    {"Attention", 3, [](const Call& c) -> Tensors { return {attention(c)}; }, Precision::kFull},
};

}  // namespace

Table attention() { return kAttentionOperations; }

}  // namespace AscendIE
