// native/opapi/aten_error.h
// An error that ATen raised. Its text names ATen's parameters, if any, not those of the aclnn function.
#pragma once

#include "runtime/error.h"

namespace opwright::opapi {

class AtenError final : public Error {
 public:
  using Error::Error;
};

}  // namespace opwright::opapi
