// native/opapi/ops/common/deq_scale.cpp
#include "opapi/ops/common/deq_scale.h"

namespace opwright::opapi {

namespace {

constexpr int64_t kScaleBits = 0xFFFFE000, kLowestScaleBit = 0x2000, kSet = int64_t{1} << 46, kOffsetMask = 0x1FF;
constexpr int64_t kOffsetShift = 37, kOffsetSign = 0x100;

}  // namespace

at::Tensor scale_of(const at::Tensor& scale) {
  if (!is_packed_scale(scale)) return scale.to(at::kFloat);
  const at::Tensor bits = scale.contiguous().view(at::kLong).bitwise_and(kScaleBits);
  return bits.to(at::kInt).view(at::kFloat);  // to int32 keeps the low 32 bits
}

at::Tensor offset_of(const at::Tensor& scale) {
  if (!is_packed_scale(scale)) return {};
  const at::Tensor bits = scale.contiguous().view(at::kLong).__rshift__(kOffsetShift).bitwise_and(kOffsetMask);
  return (bits.bitwise_xor(kOffsetSign) - kOffsetSign).to(at::kFloat);
}

at::Tensor packed_scale(const at::Tensor& scale, const OptionalTensor& offset, bool rounded) {
  at::Tensor bits = scale.to(at::kFloat).contiguous().view(at::kInt).to(at::kLong).bitwise_and(0xFFFFFFFF);
  if (rounded) {  // to the nearest number that the form holds, halves to even
    const at::Tensor odd = bits.__rshift__(13).bitwise_and(1);
    bits = bits + (kLowestScaleBit / 2 - 1) + odd;
  }
  at::Tensor result = bits.bitwise_and(kScaleBits).bitwise_or(kSet);
  if (offset) {
    const at::Tensor whole = offset->to(at::kFloat).round().clamp(-256, 255).to(at::kLong);
    result = result.bitwise_or(whole.bitwise_and(kOffsetMask).__lshift__(kOffsetShift));
  }
  return result;
}

}  // namespace opwright::opapi
