// kernels/op_proto.h: the prototypes of the device operators, as an operator package registers them with GE.
#include "operator_reg.h"

namespace ge {

REG_OP(AddCustom)
    .INPUT(x, TensorType({DT_FLOAT16, DT_FLOAT}))
    .INPUT(y, TensorType({DT_FLOAT16, DT_FLOAT}))
    .OUTPUT(z, TensorType({DT_FLOAT16, DT_FLOAT}))
    .OP_END_FACTORY_REG(AddCustom)

// x: query, key, weights, lengths of the keys, block table; y: the indices.
REG_OP(LightningIndexerPto)
    .DYNAMIC_INPUT(x, TensorType({DT_FLOAT16, DT_BF16, DT_FLOAT, DT_INT8, DT_INT32, DT_INT64}))
    .DYNAMIC_OUTPUT(y, TensorType({DT_FLOAT16, DT_BF16, DT_FLOAT, DT_INT8, DT_INT32, DT_INT64}))
    .ATTR(score_scale, Float, 1)
    .ATTR(sparse_count, Int, 2048)
    .OP_END_FACTORY_REG(LightningIndexerPto)

// x: the arguments of npu_sparse_attention_pto in their order; x10, x11 and x19 are written.
REG_OP(SparseAttentionPto)
    .DYNAMIC_INPUT(x, TensorType({DT_FLOAT, DT_BF16, DT_INT64, DT_INT32, DT_FLOAT16}))
    .DYNAMIC_OUTPUT(y, TensorType({DT_FLOAT, DT_BF16, DT_INT64, DT_INT32, DT_FLOAT16}))
    .OP_END_FACTORY_REG(SparseAttentionPto)

}  // namespace ge
