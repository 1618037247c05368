// native/opapi/ops/matmul/grouped_matmul.h
// Shared by the tables of grouped products: products of quantized matrices and their scales.
#pragma once

#include <string_view>

#include "opapi/ops/common/deq_scale.h"
#include "opapi/ops/common/group_rows.h"

namespace opwright::opapi::grouped {

// The exact product of integers: float64 holds every sum of products of 8-bit numbers.
inline at::Tensor integer_product(const at::Tensor& x, const at::Tensor& weight) {
  return at::mm(x.to(at::kDouble), weight.to(at::kDouble));
}

// The weight times scales that each hold for a block of rows: `scale` is [blocks, columns], [columns] or one value.
inline at::Tensor scaled_blocks(const at::Tensor& weight, const at::Tensor& scale, std::string_view name) {
  if (scale.dim() < 2 || scale.size(0) == 1) return weight * scale;
  require(scale.size(0) > 0 && weight.size(0) % scale.size(0) == 0, ACLNN_ERR_PARAM_INVALID, "parameter '", name,
          "' has ", scale.size(0), " blocks, which do not divide the ", weight.size(0), " rows of the weight");
  return weight * scale.repeat_interleave(weight.size(0) / scale.size(0), 0);
}

// One product of two matrices. What is not given is undefined.
struct Product {
  at::Tensor x, weight, bias, scale, offset, antiquant_scale, antiquant_offset, per_token_scale;
};

// In float32 (float64 for such factors), unless it stays an exact integer for an int32 output.
at::Tensor multiply(const Product& product, at::ScalarType out);

// Throws 161002 unless the group's expert is one of `count`.
inline void check_expert(const RowGroup& group, int64_t count) {
  require(group.expert >= 0 && group.expert < count, ACLNN_ERR_PARAM_INVALID, "there are ", count,
          " weights, but group ", group.expert, " needs one more");
}

// A list that older versions have on the host.
inline OptionalTensor listed(at::OptionalIntArrayRef groups) {
  return groups && !groups->empty() ? OptionalTensor(at::tensor(*groups, at::kLong)) : std::nullopt;
}

}  // namespace opwright::opapi::grouped
