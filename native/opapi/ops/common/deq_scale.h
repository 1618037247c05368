// native/opapi/ops/common/deq_scale.h
// Scales in the 64-bit form of the device's matrix unit: bits 13 to 31 are the upper bits of a float32, bits 37 to 45 a
// signed offset for results of eight bits, bit 46 is always set.
#pragma once

#include "opapi/opapi.h"

namespace opwright::opapi {

inline bool is_packed_scale(const at::Tensor& scale) {
  return scale.scalar_type() == at::kLong || scale.scalar_type() == at::kUInt64;
}

// The scale as float32, of any dtype.
OPWRIGHT_API at::Tensor scale_of(const at::Tensor& scale);
// The offset in a packed scale as float32; undefined for others.
OPWRIGHT_API at::Tensor offset_of(const at::Tensor& scale);
OPWRIGHT_API at::Tensor packed_scale(const at::Tensor& scale, const OptionalTensor& offset, bool rounded);

}  // namespace opwright::opapi
