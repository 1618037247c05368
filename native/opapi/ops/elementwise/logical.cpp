// native/opapi/ops/elementwise/logical.cpp
// Logical and bitwise operators.
#include "opapi/opapi.h"

#define LOGICAL(NAME, FUNCTION) ACLNN(NAME, (In, self)(In, other)(Out, out), at::FUNCTION##_out(out, self, other))
#define LOGICAL_IN_PLACE(NAME, FUNCTION) ACLNN(Inplace##NAME, (Ref, selfRef)(In, other), selfRef.FUNCTION##_(other))
#define BITWISE(NAME, FUNCTION)                                                              \
  ACLNN(NAME##Tensor, (In, self)(In, other)(Out, out), at::FUNCTION##_out(out, self, other)) \
  ACLNN(NAME##Scalar, (In, self)(Scalar, other)(Out, out), at::FUNCTION##_out(out, self, other))
#define BITWISE_IN_PLACE(NAME, FUNCTION)                                              \
  ACLNN(Inplace##NAME##Tensor, (Ref, selfRef)(In, other), selfRef.FUNCTION##_(other)) \
  ACLNN(Inplace##NAME##Scalar, (Ref, selfRef)(Scalar, other), selfRef.FUNCTION##_(other))

LOGICAL(LogicalAnd, logical_and)
LOGICAL(LogicalOr, logical_or)
LOGICAL(LogicalXor, logical_xor)
LOGICAL_IN_PLACE(LogicalAnd, logical_and)
LOGICAL_IN_PLACE(LogicalOr, logical_or)
ACLNN(LogicalNot, (In, self)(Out, out), at::logical_not_out(out, self))
ACLNN(InplaceLogicalNot, (Ref, selfRef), selfRef.logical_not_())

BITWISE(BitwiseAnd, bitwise_and)
BITWISE(BitwiseOr, bitwise_or)
BITWISE(BitwiseXor, bitwise_xor)
BITWISE_IN_PLACE(BitwiseAnd, bitwise_and)
BITWISE_IN_PLACE(BitwiseOr, bitwise_or)
BITWISE_IN_PLACE(BitwiseXor, bitwise_xor)
ACLNN(BitwiseAndTensorOut, (In, self)(In, other)(Out, out), at::bitwise_and_out(out, self, other))
ACLNN(InplaceBitwiseAndTensorOut, (Ref, self)(In, other), self.bitwise_and_(other))
ACLNN(BitwiseNot, (In, self)(Out, out), at::bitwise_not_out(out, self))

#undef LOGICAL
#undef LOGICAL_IN_PLACE
#undef BITWISE
#undef BITWISE_IN_PLACE
