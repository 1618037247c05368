// native/opapi/ops/kv_cache/stored_keys.h
// Work on keys and values before they go into a cache: norm, rotary embedding, quantization. In float32.
#pragma once

#include "opapi/ops/common/low_precision.h"

namespace opwright::opapi::paged {

inline at::Tensor normalized(const at::Tensor& x, const at::Tensor& gamma, double epsilon) {
  return x.mul(x.square().mean(-1, true).add_(epsilon).rsqrt_()).mul_(to_float(gamma));
}

// x * cos + (the halves of x, turned by 90 degrees) * sin.
inline at::Tensor rotate_halves(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  const std::vector<at::Tensor> halves = x.chunk(2, -1);
  return at::mul(x, to_float(cos)).addcmul_(at::cat({halves[1].neg(), halves[0]}, -1), to_float(sin));
}

// The same of pairs of neighbours, which become the halves of the result.
inline at::Tensor rotate_neighbours(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  const at::Tensor even = x.slice(-1, 0, std::nullopt, 2), odd = x.slice(-1, 1, std::nullopt, 2);
  return rotate_halves(at::cat({even, odd}, -1), cos, sin);
}

struct Quantization {
  const OptionalTensor &scale, &offset;
};

// `divides`: values are divided by the scale instead of multiplied with it.
inline at::Tensor quantized(const at::Tensor& values, const Quantization& quantization, const at::Tensor& cache,
                            bool divides, const char* name) {
  require(quantization.scale.has_value() == (cache.scalar_type() == at::kChar), ACLNN_ERR_PARAM_INVALID, "parameter '",
          name, "' has dtype ", cache.scalar_type(), "; it must be int8 if and only if its scale is given");
  if (!quantization.scale) return values;
  const at::Tensor scale = to_float(*quantization.scale);
  at::Tensor result = divides ? at::div(values, scale) : at::mul(values, scale);
  if (quantization.offset) result.add_(to_float(*quantization.offset));
  return to_int8(result);
}

}  // namespace opwright::opapi::paged
