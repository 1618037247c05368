// native/opapi/tensors.h
// From descriptors to at::Tensor and back.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include "nnopbase/validate.h"

namespace opwright::opapi {

// Throws 161002 for a code that torch has no dtype for.
OPWRIGHT_API at::ScalarType scalar_type(aclDataType dtype);
OPWRIGHT_API at::Scalar scalar(const aclScalar& value);

// Checks what phase 1 can check: known dtype, base format, live device memory that covers the view.
OPWRIGHT_API void validate(const aclTensor& tensor, const char* name);

// A CPU tensor over the alias of the device memory of a validated tensor. Owns nothing, cannot grow.
OPWRIGHT_API at::Tensor view_of(const aclTensor& tensor);

}  // namespace opwright::opapi
