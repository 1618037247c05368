// native/opapi/ops/elementwise/arithmetic.cpp
// Sums, differences, products, quotients, powers. Sibling names stand together: torch_npu takes the old path for the
// whole group if one of them is missing.
#include <ATen/ExpandUtils.h>
#include <ATen/ops/special_xlog1py.h>

#include <string_view>

#include "opapi/ops/common/precision.h"

namespace {

// Integers divided by zero: ATen raises, the device does not, and does not document what it computes. Here it is the
// scalar unit's rule (AArch64): the quotient is 0, the remainder is the dividend.
enum class Undivided { kQuotient, kRemainder };

bool share_memory(const at::Tensor& out, const at::Tensor& operand) {
  if (!out.has_storage() || !operand.has_storage()) return false;  // a dry run
  return out.storage().data() == operand.storage().data();
}

// function(out, self, other), unless there are integers and zeros; a search for zeros would cost as much as the
// division, so it is ATen that finds them.
template <class Function>
void divide(at::Tensor& out, const at::Tensor& self, const at::Tensor& other, Undivided rule, Function function) {
  const at::ScalarType dtype = at::result_type(self, other);
  if (!at::isIntegralType(dtype, /*includeBool=*/false)) {
    function(out, self, other);
    return;
  }
  // The operands are still needed if ATen stops half-way.
  const bool in_place = other.numel() > 1 && (share_memory(out, self) || share_memory(out, other));
  at::Tensor result = in_place ? at::empty(out.sizes(), out.options()) : out;
  try {
    function(result, self, other);
  } catch (const c10::Error& error) {
    if (std::string_view(error.what_without_backtrace()).find("ZeroDivisionError") == std::string_view::npos) throw;
    const at::Tensor zero = other.eq(0);
    result = at::empty({0}, dtype);
    function(result, self, other.masked_fill(zero, 1));
    result = rule == Undivided::kQuotient ? result.masked_fill(zero, 0) : at::where(zero, self, result);
  }
  if (!result.is_same(out)) assign(out, result);
}

void floor_divide(at::Tensor& out, const at::Tensor& self, const at::Tensor& other) {
  divide(out, self, other, Undivided::kQuotient,
         [](at::Tensor& to, const at::Tensor& a, const at::Tensor& b) { at::floor_divide_out(to, a, b); });
}

void fmod(at::Tensor& out, const at::Tensor& self, const at::Tensor& other) {
  divide(out, self, other, Undivided::kRemainder,
         [](at::Tensor& to, const at::Tensor& a, const at::Tensor& b) { at::fmod_out(to, a, b); });
}

void remainder(at::Tensor& out, const at::Tensor& self, const at::Tensor& other) {
  divide(out, self, other, Undivided::kRemainder,
         [](at::Tensor& to, const at::Tensor& a, const at::Tensor& b) { at::remainder_out(to, a, b); });
}

// mode: 0 none, 1 trunc, 2 floor.
void divide_rounding(at::Tensor& out, const at::Tensor& self, const at::Tensor& other, int32_t mode) {
  require(0 <= mode && mode <= 2, ACLNN_ERR_PARAM_INVALID, "parameter 'mode' is ", mode,
          ", but must be 0 (true division), 1 (trunc) or 2 (floor)");
  if (mode == 0) {
    at::div_out(out, self, other);
    return;
  }
  divide(out, self, other, Undivided::kQuotient, [mode](at::Tensor& to, const at::Tensor& a, const at::Tensor& b) {
    at::div_out(to, a, b, mode == 1 ? "trunc" : "floor");
  });
}

// Combines all tensors of a list by `function`, one after the other.
template <class Function>
void fold(at::Tensor& out, at::TensorList tensors, Function function) {
  require(!tensors.empty(), ACLNN_ERR_PARAM_INVALID, "parameter 'tensors' has no tensors, but must have one or more");
  // Before the body asks for memory: phase 1 sees nothing that is checked later (dry_run.h).
  at::DimVector sizes(tensors[0].sizes());
  for (const at::Tensor& tensor : tensors) sizes = at::infer_size_dimvector(sizes, tensor.sizes());
  require_sizes(out, "out", sizes);
  at::Tensor result = tensors[0];
  for (size_t i = 1; i < tensors.size(); ++i) result = function(result, tensors[i]);
  assign(out, result);
}

at::Tensor add(const at::Tensor& self, const at::Tensor& other) { return at::add(self, other); }

// `values` has the sizes of x from `axis` on, and stands for all others.
at::Tensor from_axis(const at::Tensor& values, const at::Tensor& x, int64_t axis, const char* name) {
  if (values.numel() == 1) return widened(values).reshape({});
  const int64_t rank = values.dim();
  require(axis + rank <= x.dim() && x.sizes().slice(axis, rank) == values.sizes(), ACLNN_ERR_PARAM_INVALID, name,
          " has the shape ", values.sizes(), "; x has ", x.sizes(), " and the axis is ", axis);
  std::vector<int64_t> sizes(x.dim(), 1);
  std::copy(values.sizes().begin(), values.sizes().end(), sizes.begin() + axis);
  return widened(values).reshape(sizes);
}

void scale_and_move(at::Tensor& out, const at::Tensor& x, const at::Tensor& scale, const OptionalTensor& bias,
                    int64_t axis, int64_t count, bool from_blob) {
  const int64_t first = at::maybe_wrap_dim(axis, x.dim());
  const int64_t last = count == -1 ? x.dim() : first + count;
  require(!from_blob || (count >= -1 && last <= x.dim()), ACLNN_ERR_PARAM_INVALID, "numAxes is ", count,
          "; allowed: -1 to ", x.dim() - first);
  require(!from_blob || scale.numel() == 1 || scale.dim() == last - first, ACLNN_ERR_PARAM_INVALID, "scale has ",
          scale.dim(), " dimensions; axis and numAxes say ", last - first);
  at::Tensor result = widened(x) * from_axis(scale, x, first, "scale");
  if (bias) result = result + from_axis(*bias, x, first, "bias");
  assign(out, result);
}

using ScaledSum = at::Tensor& (*)(at::Tensor& out, const at::Tensor& self, const at::Tensor& other,
                                  const at::Scalar& alpha);

// ATen rounds alpha * other in half precision before it adds.
void add_scaled(ScaledSum function, at::Tensor& out, const at::Tensor& self, const at::Tensor& other,
                const at::Scalar& alpha) {
  if (kind::is_half(out.scalar_type()) && !alpha.equal(1)) {
    rounded_once(out, [&](at::Tensor& target) { function(target, widened(self), widened(other), alpha); });
  } else {
    function(out, self, other, alpha);
  }
}

}  // namespace

// out = function(self, other): NAME, and NAME ## s with a scalar operand.
#define BINARY(NAME, FUNCTION) ACLNN(NAME, (In, self)(In, other)(Out, out), FUNCTION(out, self, other))
#define BINARY_SCALAR(NAME, FUNCTION) \
  ACLNN(NAME, (In, self)(Operand, other)(Out, out), FUNCTION(out, self, other.beside(self)))
#define IN_PLACE(NAME, FUNCTION) ACLNN(Inplace##NAME, (Ref, selfRef)(In, other), FUNCTION(selfRef, selfRef, other))
#define IN_PLACE_SCALAR(NAME, FUNCTION) \
  ACLNN(Inplace##NAME, (Ref, selfRef)(Operand, other), FUNCTION(selfRef, selfRef, other.beside(selfRef)))

ACLNN(Add, (In, self)(In, other)(Scalar, alpha)(Out, out), add_scaled(at::add_out, out, self, other, alpha))
ACLNN(Adds, (In, self)(Operand, other)(Scalar, alpha)(Out, out), at::add_out(out, self, other.beside(self), alpha))
// In place of the tensor.
ACLNN(InplaceAddV3, (Operand, selfRef)(Ref, other)(Scalar, alpha),
      at::add_out(other, selfRef.beside(other), other, alpha))
ACLNN(AddV3, (Operand, self)(In, other)(Scalar, alpha)(Out, out), at::add_out(out, self.beside(other), other, alpha))
ACLNN(InplaceAdd, (Ref, selfRef)(In, other)(Scalar, alpha), add_scaled(at::add_out, selfRef, selfRef, other, alpha))
ACLNN(InplaceAdds, (Ref, selfRef)(Operand, other)(Scalar, alpha), selfRef.add_(other.beside(selfRef), alpha))
// ATen's _add_relu has no half precision.
ACLNN(AddRelu, (In, self)(In, other)(Scalar, alpha)(Out, out), at::add_out(out, self, other, alpha).relu_())
ACLNN(InplaceAddRelu, (Ref, selfRef)(In, other)(Scalar, alpha), selfRef.add_(other, alpha).relu_())

ACLNN(Sub, (In, self)(In, other)(Scalar, alpha)(Out, out), add_scaled(at::sub_out, out, self, other, alpha))
ACLNN(Subs, (In, self)(Operand, other)(Scalar, alpha)(Out, out), at::sub_out(out, self, other.beside(self), alpha))
ACLNN(InplaceSub, (Ref, selfRef)(In, other)(Scalar, alpha), add_scaled(at::sub_out, selfRef, selfRef, other, alpha))
ACLNN(InplaceSubs, (Ref, selfRef)(Operand, other)(Scalar, alpha), selfRef.sub_(other.beside(selfRef), alpha))
ACLNN(Rsub, (In, self)(In, other)(Scalar, alpha)(Out, out), add_scaled(at::sub_out, out, other, self, alpha))
ACLNN(Rsubs, (In, self)(Operand, other)(Scalar, alpha)(Out, out), at::sub_out(out, other.beside(self), self, alpha))

BINARY(Mul, at::mul_out)
BINARY_SCALAR(Muls, at::mul_out)
ACLNN(InplaceMul, (Ref, selfRef)(In, other), selfRef.mul_(other))
ACLNN(InplaceMuls, (Ref, selfRef)(Operand, other), selfRef.mul_(other.beside(selfRef)))

BINARY(Div, at::div_out)
BINARY_SCALAR(Divs, at::div_out)
ACLNN(InplaceDiv, (Ref, selfRef)(In, other), selfRef.div_(other))
ACLNN(InplaceDivs, (Ref, selfRef)(Operand, other), selfRef.div_(other.beside(selfRef)))

ACLNN(DivMod, (In, self)(In, other)(Int32, mode)(Out, out), divide_rounding(out, self, other, mode))
ACLNN(DivMods, (In, self)(Operand, other)(Int32, mode)(Out, out), divide_rounding(out, self, other.beside(self), mode))
ACLNN(InplaceDivMod, (Ref, selfRef)(In, other)(Int32, mode), divide_rounding(selfRef, selfRef, other, mode))
ACLNN(InplaceDivMods, (Ref, selfRef)(Operand, other)(Int32, mode),
      divide_rounding(selfRef, selfRef, other.beside(selfRef), mode))

BINARY(FloorDivide, floor_divide)
BINARY_SCALAR(FloorDivides, floor_divide)
IN_PLACE(FloorDivide, floor_divide)
IN_PLACE_SCALAR(FloorDivides, floor_divide)

BINARY(FmodTensor, fmod)
BINARY_SCALAR(FmodScalar, fmod)
IN_PLACE(FmodTensor, fmod)
IN_PLACE_SCALAR(FmodScalar, fmod)

BINARY(RemainderTensorTensor, remainder)
BINARY_SCALAR(RemainderTensorScalar, remainder)
ACLNN(RemainderScalarTensor, (Operand, self)(In, other)(Out, out), remainder(out, self.beside(other), other))
IN_PLACE(RemainderTensorTensor, remainder)
IN_PLACE_SCALAR(RemainderTensorScalar, remainder)

ACLNN(PowTensorTensor, (In, self)(In, exponent)(Out, out),
      rounded_once(out, [&](at::Tensor& target) { at::pow_out(target, widened(self), widened(exponent)); }))
ACLNN(PowTensorScalar, (In, self)(Scalar, exponent)(Out, out),
      rounded_once(out, [&](at::Tensor& target) { at::pow_out(target, widened(self), exponent); }))
ACLNN(PowScalarTensor, (Scalar, self)(In, exponent)(Out, out), at::pow_out(out, self, exponent))
ACLNN(InplacePowTensorTensor, (Ref, self)(In, exponent), self.pow_(exponent))
ACLNN(InplacePowTensorScalar, (Ref, self)(Scalar, exponent), self.pow_(exponent))

ACLNN(Addcdiv, (In, self)(In, tensor1)(In, tensor2)(Scalar, value)(Out, out),
      at::addcdiv_out(out, self, tensor1, tensor2, value))
ACLNN(InplaceAddcdiv, (Ref, selfRef)(In, tensor1)(In, tensor2)(Scalar, value),
      selfRef.addcdiv_(tensor1, tensor2, value))
ACLNN(Addcmul, (In, self)(In, tensor1)(In, tensor2)(Scalar, value)(Out, out),
      at::addcmul_out(out, self, tensor1, tensor2, value))
ACLNN(InplaceAddcmul, (Ref, selfRef)(In, tensor1)(In, tensor2)(Scalar, value),
      selfRef.addcmul_(tensor1, tensor2, value))

ACLNN(Lerp, (In, self)(In, end)(In, weight)(Out, out), at::lerp_out(out, self, end, weight))
ACLNN(Lerps, (In, self)(In, end)(Scalar, weight)(Out, out), at::lerp_out(out, self, end, weight))
ACLNN(InplaceLerp, (Ref, selfRef)(In, end)(In, weight), selfRef.lerp_(end, weight))
ACLNN(InplaceLerps, (Ref, selfRef)(In, end)(Scalar, weight), selfRef.lerp_(end, weight))

BINARY(Atan2, at::atan2_out)
ACLNN(InplaceAtan2, (Ref, selfRef)(In, other), selfRef.atan2_(other))
BINARY(Maximum, at::maximum_out)
BINARY(Minimum, at::minimum_out)
#define FOLD(NAME, FUNCTION) ACLNN(NAME, (TensorList, tensors)(Out, out), fold(out, tensors, FUNCTION))
FOLD(Sum, add)
FOLD(AddN, add)
FOLD(MaxN, at::maximum)
FOLD(MinN, at::minimum)
BINARY(Gcd, at::gcd_out)
BINARY(LogAddExp, at::logaddexp_out)
BINARY(LogAddExp2, at::logaddexp2_out)

BINARY(XLogYTensor, at::xlogy_out)
BINARY_SCALAR(XLogYScalarOther, at::xlogy_out)
ACLNN(XLogYScalarSelf, (Operand, self)(In, other)(Out, out), at::xlogy_out(out, self.beside(other), other))
ACLNN(InplaceXLogYTensor, (Ref, selfRef)(In, other), selfRef.xlogy_(other))
ACLNN(InplaceXLogYScalarOther, (Ref, selfRef)(Operand, other), selfRef.xlogy_(other.beside(selfRef)))

ACLNN(LeftShift, (In, self)(In, shiftBits)(Out, out), at::bitwise_left_shift_out(out, self, shiftBits))
ACLNN(LeftShifts, (In, self)(Operand, shiftBits)(Out, out),
      at::bitwise_left_shift_out(out, self, shiftBits.beside(self)))
ACLNN(RightShift, (In, input)(In, shiftBits)(Out, out), at::bitwise_right_shift_out(out, input, shiftBits))
ACLNN(Square, (In, self)(Out, out), at::mul_out(out, self, self))
ACLNN(Xlog1py, (In, x)(In, y)(Out, z), at::special_xlog1py_out(z, x, y))
ACLNN(Scale, (In, x)(In, scale)(OptIn, bias)(Int, axis)(Int, numAxes)(Bool, scaleFromBlob)(Out, y),
      scale_and_move(y, x, scale, bias, axis, numAxes, scaleFromBlob))

#undef BINARY
#undef BINARY_SCALAR
#undef IN_PLACE
#undef IN_PLACE_SCALAR
#undef FOLD
