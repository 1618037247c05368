// native/opapi/ops/reduction/total.h
// Results without dims. As in CANN, they may be written to any output of one element.
#pragma once

#include "opapi/opapi.h"

namespace opwright::opapi {

// Writes `out` by `write`, which sees an output of one element without dims.
template <class Write>
void write_total(at::Tensor& out, Write write) {
  if (out.dim() == 0 || out.numel() != 1) {
    write(out);
    return;
  }
  at::Tensor seen = out.view(at::IntArrayRef());
  write(seen);
}

}  // namespace opwright::opapi
