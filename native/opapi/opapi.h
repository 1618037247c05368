// native/opapi/opapi.h
// What every table of aclnn functions includes; precompiled. Helpers here serve several tables.
#pragma once

#include <ATen/Functions.h>

#include "opapi/declare.h"

namespace opwright::opapi {

// For ATen functions without an out= form: the result must have the output's shape; the dtype is converted.
OPWRIGHT_API void assign(at::Tensor& out, const at::Tensor& result);

// A generator that starts at (seed, offset), as torch_npu passes them: the same pair gives the same numbers.
OPWRIGHT_API at::Generator generator(int64_t seed, int64_t offset);

// aclBoolArray -> std::array<bool, N>, ATen's form of an output mask.
template <size_t N>
std::array<bool, N> mask(c10::ArrayRef<uint8_t> flags) {
  require(flags.size() == N, ACLNN_ERR_PARAM_INVALID, "the output mask has ", flags.size(), " entries instead of ", N);
  std::array<bool, N> result{};
  for (size_t i = 0; i < N; ++i) result[i] = flags[i] != 0;
  return result;
}

// 0 stands for "not given" in scales and divisors.
inline std::optional<double> nonzero(double value) {
  return value == 0 ? std::nullopt : std::optional<double>(value);
}

// An optional tensor as ATen's older functions want it: undefined if absent.
inline at::Tensor or_undefined(const std::optional<at::Tensor>& tensor) { return tensor.value_or(at::Tensor()); }

}  // namespace opwright::opapi

// Tables are written in this namespace's terms.
using namespace opwright;         // NOLINT: tables only
using namespace opwright::opapi;  // NOLINT: tables only
