// native/opapi/helpers.cpp
#include <ATen/CPUGeneratorImpl.h>

#include "opapi/opapi.h"

namespace opwright::opapi {

int64_t divided(int64_t total, int64_t parts, const char* what) {
  require(parts > 0 && total % parts == 0, ACLNN_ERR_PARAM_INVALID, total, " cannot be divided among ", parts, " ",
          what);
  return total / parts;
}

void assign(at::Tensor& out, const at::Tensor& result) {
  if (!out.defined()) return;  // an optional output that the caller does not want
  require(out.sizes() == result.sizes(), ACLNN_ERR_PARAM_INVALID, "the output has shape ", out.sizes(),
          ", but the operator produces ", result.sizes());
  out.copy_(result);
}

at::Tensor& begin_with(at::Tensor& out, const at::Tensor& self) {
  const bool same_view = out.unsafeGetTensorImpl()->data() == self.unsafeGetTensorImpl()->data() &&
                         out.sizes() == self.sizes() && out.strides() == self.strides() &&
                         out.scalar_type() == self.scalar_type();
  if (!same_view) assign(out, self);
  return out;
}

at::Generator generator(int64_t seed, int64_t offset) {
  // One 64-bit value from the pair (splitmix64's finalizer), so that neighbouring offsets give unrelated numbers.
  uint64_t state = static_cast<uint64_t>(seed) + 0x9E3779B97F4A7C15u * (static_cast<uint64_t>(offset) + 1);
  state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
  state = (state ^ (state >> 27)) * 0x94D049BB133111EBu;
  return at::detail::createCPUGenerator(state ^ (state >> 31));
}

}  // namespace opwright::opapi
