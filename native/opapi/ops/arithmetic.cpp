// native/opapi/ops/arithmetic.cpp
// Sums, differences, products, quotients. Sibling names stand together: torch_npu takes the old path for the whole group
// if one of them is missing.
#include "opapi/opapi.h"

ACLNN(Add, (In, self)(In, other)(Scalar, alpha)(Out, out), at::add_out(out, self, other, alpha))
ACLNN(Adds, (In, self)(Scalar, other)(Scalar, alpha)(Out, out), at::add_out(out, self, other, alpha))
