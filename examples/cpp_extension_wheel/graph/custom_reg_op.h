// The prototype of AddCustom, as the build of its operator project writes it (build_out/autogen/op_proto.h).
#include "operator_reg.h"

namespace ge {
REG_OP(AddCustom)
    .INPUT(x, ge::TensorType::ALL())
    .INPUT(y, ge::TensorType::ALL())
    .OUTPUT(z, ge::TensorType::ALL())
    .OP_END_FACTORY_REG(AddCustom);
}
