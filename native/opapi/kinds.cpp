// native/opapi/kinds.cpp
#include "opapi/kinds.h"

#include <ATen/core/Formatting.h>

#include <sstream>

#include "runtime/memory.h"

namespace opwright::opapi::kind {

StoredTensor keep_tensor(const aclTensor* tensor, const char* name, bool required) {
  if (tensor == nullptr) {
    if (required) reject_null(name);
    return {};
  }
  validate(*tensor, name);
  return {*tensor};
}

OpenTensor open_tensor(const StoredTensor& stored, at::ScalarType as) {
  at::Tensor memory = view_of(*stored.desc);
  if (memory.scalar_type() == as) return {std::move(memory), {}};
  at::Tensor seen = memory.to(as);
  return {std::move(seen), std::move(memory)};
}

void check_shape(const OpenTensor& tensor, const StoredTensor& stored, const char* name) {
  if (!stored.desc || !tensor.seen.defined()) return;
  const at::IntArrayRef wanted(stored.desc->sizes.data(), stored.desc->sizes.size());
  require(tensor.seen.sizes() == wanted, ACLNN_ERR_PARAM_INVALID, "output '", name, "' has shape ",
          to_string(stored.desc->sizes), ", but the operator produces ", tensor.seen.sizes());
}

void close_output(const OpenTensor& tensor, const StoredTensor& stored, const char* name) {
  if (!stored.desc) return;
  check_shape(tensor, stored, name);
  if (tensor.memory.defined()) {
    tensor.memory.copy_(tensor.seen);
    return;
  }
  // Some of ATen's out= functions give a tensor the memory format of their input; the caller's strides hold.
  const at::IntArrayRef strides(stored.desc->strides.data(), stored.desc->strides.size());
  if (tensor.seen.strides() != strides && tensor.seen.numel() > 0) {
    view_of(*stored.desc).copy_(tensor.seen.clone());
  }
}

DynamicOut::Stored DynamicOut::keep(aclTensor* tensor, const char* name) {
  if (tensor == nullptr) reject_null(name);
  validate(*tensor, name);
  return {*tensor, tensor};
}

void DynamicOut::close(const at::Tensor& value, const Stored& stored, const char* name) {
  require(value.numel() <= stored.desc.storage_sizes.product(), ACLNN_ERR_PARAM_INVALID, "output '", name,
          "' has room for ", stored.desc.storage_sizes.product(), " elements, but the operator produces ",
          value.numel());
  aclTensor result = stored.desc;
  result.sizes.assign(value.sizes().data(), value.sizes().size());
  const at::Tensor contiguous = value.contiguous();
  result.strides.assign(contiguous.strides().data(), contiguous.strides().size());
  view_of(result).copy_(contiguous);
  stored.caller->sizes = result.sizes;
  stored.caller->strides = result.strides;
}

std::string Scalar::describe(const at::Scalar& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace opwright::opapi::kind
