// native/opapi/ops/reduction/cumulative.cpp
// Running sums, products and extremes along one dim.
#include "opapi/opapi.h"

namespace {

// exclusive: an element's own value is not in its sum. reverse: sums run from the end.
void cumsum(at::Tensor& out, const at::Tensor& self, int64_t dim, bool exclusive, bool reverse) {
  const at::Tensor source = reverse ? self.flip(dim) : self;
  at::Tensor sums = at::cumsum(source, dim, self.scalar_type());
  if (exclusive && sums.numel() > 0) {
    const at::Tensor none = at::zeros_like(sums.narrow(dim, 0, 1));
    sums = at::cat({none, sums.narrow(dim, 0, sums.size(dim) - 1)}, dim);
  }
  assign(out, reverse ? sums.flip(dim) : sums);
}

at::Tensor upper_triangle(int64_t size, int64_t diagonal) { return at::ones({size, size}, at::kBool).triu(diagonal); }

// exp of the sums of all pieces that end at one row and begin behind another: lower triangular, ones on the diagonal.
void exp_segsum(at::Tensor& out, const at::Tensor& self) {
  require(self.dim() >= 1, ACLNN_ERR_PARAM_INVALID, "self has no dimensions; allowed: 1 and more");
  const int64_t size = self.size(-1);
  std::vector<int64_t> sizes = self.sizes().vec();
  sizes.push_back(size);
  const at::Tensor terms = to_float(self).unsqueeze(-1).expand(sizes).masked_fill(upper_triangle(size, 0), 0);
  assign(out, at::cumsum(terms, -2).masked_fill_(upper_triangle(size, 1), -kInfinity).exp_());
}

void exp_segsum_backward(at::Tensor& out, const at::Tensor& grad, const at::Tensor& result) {
  require(grad.dim() >= 2 && grad.size(-1) == grad.size(-2), ACLNN_ERR_PARAM_INVALID, "gradOutput has the shape ",
          grad.sizes(), "; its last two dimensions must be equal");
  const at::Tensor upper = upper_triangle(grad.size(-1), 0);
  const at::Tensor terms = (to_float(grad) * result).masked_fill_(upper, 0);
  assign(out, at::cumsum(terms.flip(-2), -2).flip(-2).masked_fill_(upper, 0).sum(-1));
}

}  // namespace

ACLNN(Cumsum, (In, self)(Int, dim)(Dtype, dtype)(Out, out),
      into(out, dtype, [&](at::Tensor& target) { at::cumsum_out(target, self, dim, dtype); }))
ACLNN(CumsumV2, (In, self)(Int, dim)(Bool, exclusive)(Bool, reverse)(Out, out),
      cumsum(out, self, dim, exclusive, reverse))
ACLNN(Cumprod, (In, input)(Scalar, dim)(Dtype, dtype)(Out, out),
      into(out, dtype, [&](at::Tensor& target) { at::cumprod_out(target, input, dim.toLong(), dtype); }))
ACLNN(InplaceCumprod, (Ref, input)(Scalar, dim), input.cumprod_(dim.toLong()))
ACLNN(Cummax, (In, self)(Int, dim)(Out, valuesOut)(OutIndex, indicesOut),
      at::cummax_out(valuesOut, indicesOut, self, dim))
ACLNN(Cummin, (In, self)(Int, dim)(Out, valuesOut)(OutIndex, indicesOut),
      at::cummin_out(valuesOut, indicesOut, self, dim))
ACLNN(ExpSegsum, (In, self)(Out, out), exp_segsum(out, self))
ACLNN(ExpSegsumBackward, (In, gradOutput)(In, gradSelf)(Out, gradInput),
      exp_segsum_backward(gradInput, gradOutput, gradSelf))
