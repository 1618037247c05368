// native/opapi/ops/grouped_matmul.h
// What the tables of grouped products share: group lists, products of quantized matrices and their scales.
#pragma once

#include <string_view>
#include <vector>

#include "opapi/opapi.h"

namespace opwright::opapi::grouped {

using OptionalTensor = std::optional<at::Tensor>;

// Consecutive rows (or columns) of x that belong to one expert.
struct Group {
  int64_t expert, start, size;
};

// `type` 0: the ends of the groups; 1: their sizes; 2: pairs of expert and size. They cover at most `limit`.
inline std::vector<Group> groups_of(const at::Tensor& list, int64_t type, int64_t limit) {
  require(type >= 0 && type <= 2, ACLNN_ERR_PARAM_INVALID, "parameter 'groupListType' is ", type, "; allowed: 0, 1, 2");
  const bool pairs = type == 2;
  require(list.dim() == (pairs ? 2 : 1) && (!pairs || list.size(1) == 2), ACLNN_ERR_PARAM_INVALID,
          "parameter 'groupList' has shape ", list.sizes(), "; with groupListType ", type, " it must be ",
          pairs ? "[experts, 2]" : "[experts]");
  const at::Tensor values = list.to(at::kLong).contiguous();
  const int64_t* const value = values.const_data_ptr<int64_t>();
  std::vector<Group> groups;
  int64_t start = 0;
  for (int64_t i = 0; i < list.size(0); ++i) {
    const int64_t size = pairs ? value[2 * i + 1] : type == 1 ? value[i] : value[i] - start;
    require(size >= 0 && start + size <= limit, ACLNN_ERR_PARAM_INVALID, "parameter 'groupList': group ", i,
            " begins at ", start, " and has ", size, " elements, but the grouped axis has ", limit);
    groups.push_back({pairs ? value[2 * i] : i, start, size});
    start += size;
  }
  return groups;
}

// Eight 4-bit numbers in each int32 along `dim`, the first in the lowest bits.
inline at::Tensor unpack_int4(const at::Tensor& packed, int64_t dim) {
  const at::Tensor last = packed.movedim(dim, -1).unsqueeze(-1);
  const at::Tensor nibbles = last.__rshift__(at::arange(8, at::kInt) * 4).bitwise_and(15);
  return (nibbles.bitwise_xor(8) - 8).to(at::kChar).flatten(-2).movedim(-1, dim);  // two's complement of 4 bits
}

// A packed scale (64 bits): a float32 without its 13 lowest bits, and above it a 9-bit offset for int8 outputs.
inline bool is_packed_scale(const at::Tensor& scale) {
  return scale.scalar_type() == at::kLong || scale.scalar_type() == at::kUInt64;
}
inline at::Tensor scale_factor(const at::Tensor& scale) {
  if (!is_packed_scale(scale)) return scale.to(at::kFloat);
  constexpr int64_t kUsedBits = 0xFFFFE000;
  return scale.view(at::kLong).bitwise_and(kUsedBits).to(at::kInt).contiguous().view(at::kFloat);
}
inline at::Tensor scale_offset(const at::Tensor& scale) {
  constexpr int64_t kFirstBit = 37, kMask = 0x1FF, kSign = 0x100;
  return (scale.view(at::kLong).__rshift__(kFirstBit).bitwise_and(kMask).bitwise_xor(kSign) - kSign).to(at::kFloat);
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

// Rounds half to even and saturates.
inline at::Tensor to_int8(const at::Tensor& values) { return values.round().clamp_(-128, 127).to(at::kChar); }

}  // namespace opwright::opapi::grouped
