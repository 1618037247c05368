// native/opapi/ops/reduction/cumulative.cpp
// Running sums, products and extremes along one dim.
#include "opapi/opapi.h"

ACLNN(Cumsum, (In, self)(Int, dim)(Dtype, dtype)(Out, out),
      into(out, dtype, [&](at::Tensor& target) { at::cumsum_out(target, self, dim, dtype); }))
ACLNN(Cumprod, (In, input)(Scalar, dim)(Dtype, dtype)(Out, out),
      into(out, dtype, [&](at::Tensor& target) { at::cumprod_out(target, input, dim.toLong(), dtype); }))
ACLNN(Cummax, (In, self)(Int, dim)(Out, valuesOut)(OutIndex, indicesOut),
      at::cummax_out(valuesOut, indicesOut, self, dim))
ACLNN(Cummin, (In, self)(Int, dim)(Out, valuesOut)(OutIndex, indicesOut),
      at::cummin_out(valuesOut, indicesOut, self, dim))
