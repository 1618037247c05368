// native/opapi/ops/moe/moe.h
// Shared by the tables of mixtures of experts: rows of tokens that are sorted by expert, and the way back.
#pragma once

#include <vector>

#include "opapi/opapi.h"

namespace opwright::opapi::moe {

// The position of each element in the order that `order` describes: inverse[order[i]] == i.
inline at::Tensor inverse_order(const at::Tensor& order) {
  return at::empty_like(order).scatter_(0, order, at::arange(order.numel(), at::kLong));
}

// The positions in `values`, flattened, in ascending order of the values; equal ones keep their order.
inline at::Tensor sorted_order(const at::Tensor& values) { return at::argsort(values.flatten(), /*stable=*/true); }

// The numbers of `index` are places of an order of as many elements.
inline void require_places(const at::Tensor& index, const char* name, int64_t least = 0, const char* besides = "") {
  const int64_t count = index.numel();
  const at::Tensor wrong = index.masked_select((index < least).logical_or_(index >= count));
  if (wrong.numel() == 0) return;
  fail(ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has the element ", wrong[0].item<int64_t>(), "; allowed: 0 to ",
       count - 1, besides);
}

// Rows by number. A number without a row stands for a token that was dropped, which gives zeros.
inline at::Tensor rows_at(const at::Tensor& rows, const at::Tensor& index) {
  const at::Tensor absent = (index < 0).logical_or_(index >= rows.size(0));
  if (!absent.any().item<bool>()) return rows.index_select(0, index);
  std::vector<int64_t> shape = rows.sizes().vec();
  shape[0] = index.numel();
  if (rows.size(0) == 0) return at::zeros(shape, rows.options());
  at::Tensor result = rows.index_select(0, index.masked_fill(absent, 0));
  shape.assign(static_cast<size_t>(rows.dim()), 1);
  shape[0] = index.numel();
  return result.masked_fill_(absent.view(shape), 0);
}

// Puts rows where rows_at found them: out[index[i]] = rows[i]; other rows of `out` are zero.
inline void put_rows(at::Tensor& out, const at::Tensor& index, const at::Tensor& rows) {
  const at::Tensor present = (index >= 0).logical_and_(index < out.size(0));
  const bool all = present.all().item<bool>();
  if (!all || index.numel() != out.size(0)) out.zero_();
  if (all) {
    out.index_copy_(0, index, rows.to(out.scalar_type()));
  } else {
    out.index_copy_(0, index.masked_select(present), rows.index({present}).to(out.scalar_type()));
  }
}

// Sums of `count` rows each, of [n * count, columns], computed in float32 and optionally weighted by [n, count].
inline at::Tensor sum_of_rows(const at::Tensor& rows, int64_t count, const OptionalTensor& weights) {
  if (count == 1 && !weights) return rows;
  const at::Tensor grouped =
      rows.view({divided(rows.size(0), count, "copies of each token"), count, rows.size(1)}).to(at::kFloat);
  return weights ? at::bmm(weights->unsqueeze(1).to(at::kFloat), grouped).squeeze(1) : grouped.sum(1);
}

}  // namespace opwright::opapi::moe
