// native/live/call/values.h
// Arguments and outputs of a call -> the values of the C parameters.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include "live/npu/npu.h"
#include "live/plan/plan.h"
#include "live/rules/sizes.h"

namespace opwright::live {

// The value of one parameter; which member holds it follows from the parameter's C type.
union Value {
  void* object;
  int64_t integer;
  double real;
};

using Values = c10::SmallVector<Value, 16>;

Values convert(const Plan& plan, Arguments arguments, at::TensorList outputs, npu::Objects& objects);

}  // namespace opwright::live
