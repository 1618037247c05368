// native/opapi/signature.cpp
#include "opapi/signature.h"

#include <cmath>
#include <functional>

namespace opwright::opapi {

namespace {

uint64_t bits_in(uint64_t magnitude) noexcept {
  return magnitude == 0 ? 0 : 64 - static_cast<uint64_t>(__builtin_clzll(magnitude));
}

}  // namespace

void Signature::add(const aclTensor& tensor) {
  mix(static_cast<uint64_t>(tensor.dtype) | static_cast<uint64_t>(tensor.format) << 16 |
      static_cast<uint64_t>(tensor.sizes.size()) << 32);
  if (detail_ == Detail::kDtypes) return;
  for (const int64_t size : tensor.sizes) mix(static_cast<uint64_t>(size));
  for (const int64_t stride : tensor.strides) mix(static_cast<uint64_t>(stride));
}

void Signature::add(double value) {
  // NaN lies nowhere: 0.
  mix(static_cast<uint64_t>(value < 0) | static_cast<uint64_t>(value == 0) << 1 |
      static_cast<uint64_t>(value > 0 && value < 1) << 2 | static_cast<uint64_t>(value == 1) << 3 |
      static_cast<uint64_t>(value > 1) << 4 | static_cast<uint64_t>(std::isinf(value)) << 5);
}

void Signature::add(const at::Scalar& value) {
  mix(static_cast<uint64_t>(value.type()));
  if (value.isFloatingPoint()) {
    add(value.to<double>());
  } else if (value.isIntegral(/*includeBool=*/true) && value.type() != at::kUInt64) {
    const auto number = value.to<int64_t>();
    mix(number < 0 ? ~bits_in(~static_cast<uint64_t>(number)) : bits_in(static_cast<uint64_t>(number)));
  }
}

void Signature::add(const std::string& value) { mix(std::hash<std::string>()(value)); }

}  // namespace opwright::opapi
