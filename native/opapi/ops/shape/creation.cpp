// native/opapi/ops/shape/creation.cpp
// Filling, copying and casting: what makes a tensor's contents without arithmetic.
#include "opapi/opapi.h"

namespace {

// `depth` classes along a new axis of `out`; an index outside [0, depth) gives a row of off values.
void one_hot(at::Tensor& out, const at::Tensor& self, int32_t depth, const at::Tensor& on_value,
             const at::Tensor& off_value, int64_t axis) {
  const int64_t rank = self.dim() + 1;
  require(-rank <= axis && axis < rank, ACLNN_ERR_PARAM_INVALID, "parameter 'axis' is ", axis, ", but must be in [",
          -rank, ", ", rank - 1, "] for an input with ", self.dim(), " dimensions");
  if (axis < 0) axis += rank;
  std::vector<int64_t> along(static_cast<size_t>(rank), 1);
  along[static_cast<size_t>(axis)] = depth;
  const at::Tensor classes = at::arange(depth, at::kLong).view(along);
  assign(out, at::where(self.unsqueeze(axis).eq(classes), on_value.reshape({}), off_value.reshape({})));
}

// ATen's kernels take `out` for a stack of matrices at equal distances, whatever its strides are.
template <class Function>
void triangle(at::Tensor& out, const Function& function) {
  at::Tensor stack = out.is_contiguous() ? out : at::empty(out.sizes(), out.options());
  function(stack);
  if (!stack.is_same(out)) out.copy_(stack);
}

void copy(at::Tensor& self, const at::Tensor& source) {
  require_expandable(source, self.sizes(), "src");
  self.copy_(source);
}

}  // namespace

ACLNN(Arange, (Scalar, start)(Scalar, end)(Scalar, step)(Out, out), at::arange_out(out, start, end, step))
ACLNN(Range, (Scalar, start)(Scalar, end)(Scalar, step)(Out, out), at::range_out(out, start, end, step))
ACLNN(Linspace, (Scalar, start)(Scalar, end)(Int, steps)(Out, out), at::linspace_out(out, start, end, steps))
ACLNN(LogSpace, (Scalar, start)(Scalar, end)(Int, steps)(Double, base)(Out, result),
      at::logspace_out(result, start, end, steps, base))
ACLNN(Eye, (Int, n)(Int, m)(Out, out), at::eye_out(out, n, m))
ACLNN(OneHot, (In, self)(Int32, numClasses)(In, onValue)(In, offValue)(Int, axis)(Out, out),
      one_hot(out, self, numClasses, onValue, offValue, axis))

ACLNN(InplaceZero, (Out, selfRef), selfRef.zero_())
ACLNN(InplaceOne, (Out, selfRef), selfRef.fill_(1))
ACLNN(InplaceFillScalar, (Out, selfRef)(Scalar, value), selfRef.fill_(value))
ACLNN(InplaceFillTensor, (Out, selfRef)(In, value), selfRef.fill_(value.reshape({})))
ACLNN(InplaceFillDiagonal, (Ref, selfRef)(Scalar, fillValue)(Bool, wrap), selfRef.fill_diagonal_(fillValue, wrap))

ACLNN(Tril, (In, self)(Int, diagonal)(Out, out),
      triangle(out, [&](at::Tensor& to) { at::tril_out(to, self, diagonal); }))
ACLNN(Triu, (In, self)(Int, diagonal)(Out, out),
      triangle(out, [&](at::Tensor& to) { at::triu_out(to, self, diagonal); }))
ACLNN(InplaceTril, (Ref, selfRef)(Int, diagonal), selfRef.tril_(diagonal))
ACLNN(InplaceTriu, (Ref, selfRef)(Int, diagonal), selfRef.triu_(diagonal))

// The target dtype is out's; `dtype` says it again.
ACLNN(Cast, (In, self)(Dtype, dtype)(Out, out), assign(out, self))
ACLNN(InplaceCopy, (Out, selfRef)(In, src), copy(selfRef, src))
