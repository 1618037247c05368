// native/opapi/ops/grouped_matmul.h
// What the tables of grouped products share: group lists, products of quantized matrices and their scales.
#pragma once

#include <string_view>
#include <vector>

#include "opapi/ops/deq_scale.h"
#include "opapi/ops/low_precision.h"

namespace opwright::opapi::grouped {

using OptionalTensor = std::optional<at::Tensor>;

// Consecutive rows (or columns) of x that belong to one expert.
struct Group {
  int64_t expert, start, size;
};

// `type` 0: the ends of the groups; 1: their sizes; 2: pairs of expert and size. They cover at most `limit`.
inline std::vector<Group> groups_of(const at::Tensor& list, int64_t type, int64_t limit,
                                    const char* name = "groupList") {
  require(type >= 0 && type <= 2, ACLNN_ERR_PARAM_INVALID, "parameter 'groupListType' is ", type, "; allowed: 0, 1, 2");
  const bool pairs = type == 2;
  require(list.dim() == (pairs ? 2 : 1) && (!pairs || list.size(1) == 2), ACLNN_ERR_PARAM_INVALID, "parameter '", name,
          "' has shape ", list.sizes(), "; with groupListType ", type, " it must be ",
          pairs ? "[experts, 2]" : "[experts]");
  const at::Tensor values = list.to(at::kLong).contiguous();
  const int64_t* const value = values.const_data_ptr<int64_t>();
  std::vector<Group> groups;
  int64_t start = 0;
  for (int64_t i = 0; i < list.size(0); ++i) {
    const int64_t size = pairs ? value[2 * i + 1] : type == 1 ? value[i] : value[i] - start;
    require(size >= 0 && start + size <= limit, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "': group ", i,
            " begins at ", start, " and has ", size, " elements, but the grouped axis has ", limit);
    groups.push_back({pairs ? value[2 * i] : i, start, size});
    start += size;
  }
  return groups;
}

// The exact product of integers: float64 holds every sum of products of 8-bit numbers.
inline at::Tensor integer_product(const at::Tensor& x, const at::Tensor& weight) {
  return at::mm(x.to(at::kDouble), weight.to(at::kDouble));
}

// The weight times scales that each hold for a block of rows: `scale` is [blocks, columns], [columns] or one value.
inline at::Tensor scaled_blocks(const at::Tensor& weight, const at::Tensor& scale, std::string_view name) {
  if (scale.dim() < 2 || scale.size(0) == 1) return weight * scale;
  require(weight.size(0) % scale.size(0) == 0, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has ", scale.size(0),
          " blocks, which do not divide the ", weight.size(0), " rows of the weight");
  return weight * scale.repeat_interleave(weight.size(0) / scale.size(0), 0);
}

// One product of two matrices. What is not given is undefined.
struct Product {
  at::Tensor x, weight, bias, scale, offset, antiquant_scale, antiquant_offset, per_token_scale;
};

// In float32 (float64 for such factors), unless it stays an exact integer for an int32 output.
at::Tensor multiply(const Product& product, at::ScalarType out);

// Rounds half to even and saturates.
inline at::Tensor to_int8(const at::Tensor& values) { return values.round().clamp_(-128, 127).to(at::kChar); }

}  // namespace opwright::opapi::grouped
