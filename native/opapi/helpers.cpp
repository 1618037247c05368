// native/opapi/helpers.cpp
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ExpandUtils.h>

#include "opapi/opapi.h"
#include "opapi/random_bits.h"

namespace opwright::opapi {

int64_t divided(int64_t total, int64_t parts, const char* what) {
  require(parts > 0 && total % parts == 0, ACLNN_ERR_PARAM_INVALID, total, " cannot be divided among ", parts, " ",
          what);
  return total / parts;
}

void require_expandable(const at::Tensor& tensor, at::IntArrayRef sizes, const char* name) {
  require(at::is_expandable_to(tensor.sizes(), sizes), ACLNN_ERR_PARAM_INVALID, name, " has shape ", tensor.sizes(),
          ", which does not expand to ", sizes);
}

void take_shape(at::Tensor& out, const at::Tensor& result) {
  if (out.sizes() != result.sizes()) out.unsafeGetTensorImpl()->set_sizes_contiguous(result.sizes());
}

void assign(at::Tensor& out, const at::Tensor& result) {
  if (!out.defined()) return;  // an optional output that the caller does not want
  require(out.sizes() == result.sizes(), ACLNN_ERR_PARAM_INVALID, "the output has shape ", out.sizes(),
          ", but the operator produces ", result.sizes());
  out.copy_(result);
}

void require_sizes(const at::Tensor& out, const char* name, at::IntArrayRef sizes) {
  if (!out.defined()) return;  // as in assign
  require(out.sizes() == sizes, ACLNN_ERR_PARAM_INVALID, "output '", name, "' has shape ", out.sizes(),
          ", but the operator produces ", sizes);
}

at::Tensor& begin_with(at::Tensor& out, const at::Tensor& self) {
  // In a dry run copying would ask for memory, and end before the operator has checked its arguments.
  if (!out.has_storage() && out.sizes() == self.sizes()) return out;
  // Addresses last: a dry run ends where one is asked for.
  const bool same_view = out.sizes() == self.sizes() && out.strides() == self.strides() &&
                         out.scalar_type() == self.scalar_type() &&
                         out.unsafeGetTensorImpl()->data() == self.unsafeGetTensorImpl()->data();
  if (!same_view) assign(out, self);
  return out;
}

at::Generator generator(int64_t seed, int64_t offset) {
  return at::detail::createCPUGenerator(random_bits(static_cast<uint64_t>(seed), static_cast<uint64_t>(offset)));
}

}  // namespace opwright::opapi
