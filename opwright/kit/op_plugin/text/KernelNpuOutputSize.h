// op_plugin/utils/KernelNpuOutputSize.h: the sizes of outputs that `size:` in the YAML may name.
//
// libtorch_npu.so exports none of op-plugin's functions for this. The most used ones are here.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <algorithm>

namespace op_infer {

constexpr int N = 32;
constexpr int SIZE = 8;

inline int64_t CeilDiv(int64_t value, int64_t divisor) {
  TORCH_CHECK(divisor != 0, "CeilDiv: the divisor is 0");
  return (value + divisor - 1) / divisor;
}

inline c10::SmallVector<int64_t, SIZE> array_to_small_vector(c10::IntArrayRef sizes) {
  return c10::SmallVector<int64_t, SIZE>(sizes.begin(), sizes.end());
}

inline c10::SmallVector<int64_t, SIZE> input_same_output_size(const at::Tensor& input) {
  return array_to_small_vector(input.sizes());
}

inline c10::SmallVector<int64_t, SIZE> broadcast_ops_npu_output_size(c10::IntArrayRef left, c10::IntArrayRef right) {
  if (left.size() < right.size()) {
    std::swap(left, right);
  }
  c10::SmallVector<int64_t, SIZE> sizes = array_to_small_vector(left);
  const size_t shift = left.size() - right.size();
  for (size_t axis = 0; axis < right.size(); ++axis) {
    int64_t& size = sizes[shift + axis];
    TORCH_CHECK(size == right[axis] || size == 1 || right[axis] == 1, "shapes ", left, " and ", right,
                " do not broadcast");
    size = size == 1 ? right[axis] : size;
  }
  return sizes;
}

inline c10::SmallVector<int64_t, SIZE> broadcast_ops_npu_output_size(const at::Tensor& left, const at::Tensor& right) {
  return broadcast_ops_npu_output_size(left.sizes(), right.sizes());
}

// No axes stand for all of them.
inline c10::SmallVector<int64_t, SIZE> reduce_ops_npu_output_size(const at::Tensor& input, c10::IntArrayRef axes,
                                                                  bool keepdim) {
  c10::SmallVector<int64_t, SIZE> sizes;
  for (int64_t axis = 0; axis < input.dim(); ++axis) {
    const bool reduced = axes.empty() || std::any_of(axes.begin(), axes.end(), [&](int64_t given) {
                           return given == axis || given == axis - input.dim();
                         });
    if (!reduced || keepdim) {
      sizes.push_back(reduced ? 1 : input.size(axis));
    }
  }
  return sizes;
}

}  // namespace op_infer
