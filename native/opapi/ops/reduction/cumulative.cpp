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
