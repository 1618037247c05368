// native/runtime/descriptors/data_type.h
// Sizes of ACL's data types and the half-precision conversions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "acl/acl_base.h"
#include "runtime/error.h"

namespace opwright {

// Bits of one element. 0 for types without a fixed size (ACL_STRING, ACL_DT_UNDEFINED) and for unknown codes.
OPWRIGHT_API size_t bits_of(aclDataType type) noexcept;

// IEEE 754 binary16 <-> binary32, rounding to nearest even; NaN stays NaN, overflow becomes infinity.
float half_to_float(uint16_t half) noexcept;
uint16_t float_to_half(float value) noexcept;

}  // namespace opwright
