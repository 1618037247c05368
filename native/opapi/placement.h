// native/opapi/placement.h
// Results of ATen functions that have no out= form, made in device memory instead of copied there. While a Placement
// lives, the first CPU allocation of this thread that has exactly the size of `out` is given `out`'s memory. Usually
// that is the result, and `assign` finds nothing left to do; if it was a temporary, `assign` copies the result as ever.
#pragma once

#include <ATen/core/Tensor.h>

#include "runtime/error.h"

namespace opwright::opapi {

class OPWRIGHT_API Placement {
 public:
  // No memory is offered if a tensor of `read`, what the function reads, is in it too.
  Placement(const at::Tensor& out, at::TensorList read);
  ~Placement();
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;
};

// compute(), with a result in `out`'s memory if possible.
template <class Compute>
auto placed(const at::Tensor& out, at::TensorList read, const Compute& compute) {
  const Placement placement(out, read);
  return compute();
}

}  // namespace opwright::opapi
