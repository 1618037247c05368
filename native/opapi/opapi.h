// native/opapi/opapi.h
// Included by every table of aclnn functions; precompiled. Helpers here serve several tables.
#pragma once

#include <ATen/ScalarOps.h>
#include <ATen/TensorOperators.h>

#include <limits>

#include "opapi/aten.h"
#include "opapi/declare.h"

namespace opwright::opapi {

// Made once for all tables, in kinds.cpp. Kernels of users make their own: templates of kinds are not exported.
#define OPWRIGHT_DECLARE_OPERATIONS(KIND) extern template struct OperationsOf<kind::KIND>;
OPWRIGHT_EACH_KIND(OPWRIGHT_DECLARE_OPERATIONS)
#undef OPWRIGHT_DECLARE_OPERATIONS

using OptionalTensor = std::optional<at::Tensor>;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline const OptionalTensor kNone;  // an input that a form of an operator does not have

// An output that a form of an operator does not have, as an argument: `operator(out, NoTensor{})`.
struct NoTensor {
  at::Tensor tensor;
  operator at::Tensor&() { return tensor; }  // NOLINT: stands for the tensor
};

inline at::Tensor to_float(const at::Tensor& tensor) { return tensor.to(at::kFloat); }

// total / parts, for sizes that a caller gives: a division by zero would end the process.
OPWRIGHT_API int64_t divided(int64_t total, int64_t parts, const char* what);

// Refuses a tensor that cannot be expanded to `sizes`. Some of ATen's functions compare shapes after they have asked
// for an operand's memory, so that phase 1 would not find it (dry_run.h).
OPWRIGHT_API void require_expandable(const at::Tensor& tensor, at::IntArrayRef sizes, const char* name);

// For ATen functions without an out= form: the result must have the output's shape; the dtype is converted.
OPWRIGHT_API void assign(at::Tensor& out, const at::Tensor& result);
// Refuses an output of another shape before the body asks for memory: phase 1 sees nothing that is checked later.
OPWRIGHT_API void require_sizes(const at::Tensor& out, const char* name, at::IntArrayRef sizes);
inline void assign(at::Tensor& first, at::Tensor& second, const std::tuple<at::Tensor, at::Tensor>& results) {
  assign(first, std::get<0>(results));
  assign(second, std::get<1>(results));
}

// In a dry run: `out` takes the shape that the result in its place was given, with which it is compared.
OPWRIGHT_API void take_shape(at::Tensor& out, const at::Tensor& result);

// For ATen's out= forms that insist on a dtype: calls compute(target) with `out`, or, if `out` has another dtype, with
// a temporary that is then converted.
template <class Compute>
void into(at::Tensor& out, at::ScalarType dtype, const Compute& compute) {
  if (out.scalar_type() == dtype) {
    compute(out);
    return;
  }
  at::Tensor result = is_dry_run() ? stand_in_of(out, dtype) : at::Tensor();
  if (result.defined()) {
    try {
      compute(result);
    } catch (const c10::Error&) {
      take_shape(out, result);
      throw;
    }
  } else {
    result = at::empty(out.sizes(), out.options().dtype(dtype));
    compute(result);
  }
  assign(out, result);
}

// For operators that change a copy of `self`: `out` with the values of `self`. Callers often pass one memory for both.
OPWRIGHT_API at::Tensor& begin_with(at::Tensor& out, const at::Tensor& self);

// A scalar as a tensor operand that takes part in dtype promotion as a Python number does. ATen's own Scalar overloads
// with out= go through a temporary result; with this operand the Tensor overload writes into `out`.
inline at::Tensor operand(const at::Scalar& value) { return at::native::wrapped_scalar_tensor(value); }

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
inline std::optional<double> nonzero(double value) { return value == 0 ? std::nullopt : std::optional<double>(value); }

// An optional tensor as ATen's older functions want it: undefined if absent.
inline at::Tensor or_undefined(const std::optional<at::Tensor>& tensor) { return tensor.value_or(at::Tensor()); }

}  // namespace opwright::opapi

// Tables are written in this namespace's terms.
using namespace opwright;         // NOLINT: tables only
using namespace opwright::opapi;  // NOLINT: tables only
