// native/opapi/kinds.cpp
#include "opapi/kinds.h"

#include <ATen/core/Formatting.h>
#include <c10/util/strides.h>

#include <algorithm>
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

DynamicOut::Value DynamicOut::open(const Stored& stored, const char*, const Opening&) {
  aclTensor room = stored.desc;
  const int64_t count = std::max<int64_t>(room.storage_sizes.product() - room.offset, 0);
  const int64_t step = 1;
  room.sizes.assign(&count, 1);
  room.strides.assign(&step, 1);
  const at::Tensor storage = view_of(room);
  return {storage, storage.narrow(0, 0, 0)};
}

void DynamicOut::close(const Value& value, const Stored& stored, const char* name) {
  const at::Tensor& result = value.seen;
  require(result.numel() <= value.room.numel(), ACLNN_ERR_PARAM_INVALID, "output '", name, "' has room for ",
          value.room.numel(), " elements, but the operator produces ", result.numel());
  if (!result.is_alias_of(value.room) || !result.is_contiguous()) {
    value.room.narrow(0, 0, result.numel()).view(result.sizes()).copy_(result.contiguous());
  }
  const c10::DimVector strides = c10::contiguous_strides(result.sizes());
  stored.caller->sizes.assign(result.sizes().data(), result.sizes().size());
  stored.caller->strides.assign(strides.data(), strides.size());
}

std::string Scalar::describe(const at::Scalar& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace opwright::opapi::kind
