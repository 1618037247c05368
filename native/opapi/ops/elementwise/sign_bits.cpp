// native/opapi/ops/elementwise/sign_bits.cpp
// Signs of numbers as single bits, eight in a byte, as the optimizer 1-bit Adam sends them.
#include "opapi/opapi.h"

namespace {

constexpr int64_t kBits = 8;

// The first of eight numbers is the lowest bit, 1 if it is not negative. What fills up the last byte counts as
// negative.
void pack_signs(at::Tensor& out, const at::Tensor& self, int64_t size) {
  require(self.dim() == 1, ACLNN_ERR_PARAM_INVALID, "self has ", self.dim(), " dimensions; allowed: 1");
  const int64_t bytes = (self.numel() + kBits - 1) / kBits;
  require(size > 0 && bytes % size == 0, ACLNN_ERR_PARAM_INVALID, "size is ", size, "; it must divide the ", bytes,
          " bytes");
  const at::Tensor bits = at::constant_pad_nd(self.ge(0).to(at::kInt), {0, bytes * kBits - self.numel()}, 0);
  const at::Tensor weights = at::pow(2, at::arange(kBits, at::kInt));
  assign(out, (bits.view({bytes, kBits}) * weights).sum(1).view({size, bytes / size}));
}

// The lowest bit is the first number: 1 for a bit that is set, otherwise -1.
void unpack_signs(at::Tensor& out, const at::Tensor& self, int64_t size) {
  require(self.dim() == 1 && self.scalar_type() == at::kByte, ACLNN_ERR_PARAM_INVALID, "self is ", self.scalar_type(),
          self.sizes(), "; allowed: uint8 in one dimension");
  const int64_t count = self.numel() * kBits;
  require(size > 0 && count % size == 0, ACLNN_ERR_PARAM_INVALID, "size is ", size, "; it must divide the ", count,
          " bits");
  const at::Tensor bits =
      self.to(at::kInt).unsqueeze(1).bitwise_right_shift(at::arange(kBits, at::kInt)).bitwise_and_(1);
  assign(out, bits.mul_(2).sub_(1).view({size, count / size}));
}

}  // namespace

ACLNN(SignBitsPack, (In, self)(Int, size)(Out, out), pack_signs(out, self, size))
ACLNN(SignBitsUnpack, (In, self)(Int, size)(Dtype, dtype)(Out, out),
      require(out.scalar_type() == dtype, ACLNN_ERR_PARAM_INVALID, "out is ", out.scalar_type(), "; dtype is ", dtype);
      unpack_signs(out, self, size))
