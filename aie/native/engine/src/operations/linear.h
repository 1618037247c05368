// operations/linear.h: the operands of "Linear", which passes make: x * weight, then what was fused into the product.
//
// Inputs: x (..., in), the weight, perhaps the bias (out), perhaps a residual of the result's shape, which is added.
// Attributes: "b": MatrixOperation of the weight: NONE: (in, out), TRANSPOSE: (out, in); "bias", "residual": whether
// they are there; "activation": an ActivationKind, "tanh": the form of GELU. Either a residual or an activation.
#pragma once

#include "operation.h"

namespace AscendIE {

struct Linear {
  at::Tensor bias, residual;  // undefined if absent
};

Linear linear_of(const Call& call);

}  // namespace AscendIE
