// native/opapi/kinds.cpp
#include "opapi/kinds.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/Formatting.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/result_type.h>
#include <c10/util/strides.h>

#include <algorithm>
#include <sstream>

#include "opapi/function.h"
#include "opapi/tiled_format.h"
#include "runtime/memory/memory.h"

namespace opwright::opapi::kind {

StoredTensor keep_tensor(const aclTensor* tensor, const char* name, bool required) {
  if (tensor == nullptr) {
    if (required) reject_null(name);
    return {};
  }
  // Callers also say only how many elements the storage of a tensor in blocks has.
  const bool is_flat = is_tiled(tensor->format) && tensor->sizes.size() >= 2 && tensor->storage_sizes.size() == 1;
  const aclTensor whole = is_flat ? with_blocks(*tensor, tensor->format) : *tensor;
  validate(whole, name);
  return {whole};
}

OpenTensor open_tensor(const StoredTensor& stored, at::ScalarType as) {
  if (is_tiled(stored.desc->format)) {
    at::Tensor values = unpack(*stored.desc);
    return {values.to(as), values};
  }
  at::Tensor memory = view_of(*stored.desc);
  if (memory.scalar_type() == as) return {std::move(memory), {}};
  at::Tensor seen = memory.to(as);
  return {std::move(seen), std::move(memory)};
}

bool is_steady(const OpenTensor& tensor, const StoredTensor& stored) {
  if (!stored.desc) return !tensor.seen.defined();
  if (tensor.memory.defined()) return false;
  const aclTensor& desc = *stored.desc;
  const at::Tensor& seen = tensor.seen;
  return seen.sizes() == at::IntArrayRef(desc.sizes.data(), desc.sizes.size()) &&
         seen.strides() == at::IntArrayRef(desc.strides.data(), desc.strides.size()) &&
         seen.storage_offset() == desc.offset &&
         seen.storage().data() == (desc.data == nullptr ? nullptr : memory::alias_of(desc.data));
}

void check_shape(const OpenTensor& tensor, const StoredTensor& stored, const char* name) {
  if (!stored.desc || !tensor.seen.defined()) return;
  const at::IntArrayRef wanted(stored.desc->sizes.data(), stored.desc->sizes.size());
  if (tensor.seen.sizes() == wanted) return;
  fail(ACLNN_ERR_PARAM_INVALID, "output '", name, "' has shape ", to_string(stored.desc->sizes),
       ", but the operator produces ", tensor.seen.sizes());
}

void close_output(const OpenTensor& tensor, const StoredTensor& stored, const char* name) {
  if (!stored.desc) return;
  check_shape(tensor, stored, name);
  if (is_tiled(stored.desc->format)) {
    pack(tensor.seen, *stored.desc);
    return;
  }
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
  require(!is_tiled(tensor->format), ACLNN_ERR_PARAM_INVALID, "parameter '", name, "': storage format ",
          static_cast<int>(tensor->format), " is not available for a result whose shape depends on values");
  return {*tensor, tensor};
}

DynamicOut::Value DynamicOut::open(const Stored& stored, const char*, const Opening& opening) {
  if (opening.operands != Operands::kMemory) {
    const at::Tensor grows = at::empty({0}, scalar_type(stored.desc.dtype));
    return {grows, grows};
  }
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

const at::Tensor& ScalarOperand::beside(const at::Tensor& other) {
  const at::ScalarType common = at::result_type(other, value_);
  if (tensor_.defined() && common_ == common) return tensor_;
  common_ = common;
  tensor_ = at::native::wrapped_scalar_tensor(value_);
  // Half-precision kernels take the number as it is. Elsewhere TensorIterator would convert it in each run.
  if (!is_half(common) && tensor_.scalar_type() != common) {
    tensor_ = tensor_.to(common);
    tensor_.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return tensor_;
}

std::string Scalar::describe(const at::Scalar& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace opwright::opapi::kind

namespace opwright::opapi {

#define OPWRIGHT_DEFINE_OPERATIONS(KIND) template struct OperationsOf<kind::KIND>;
OPWRIGHT_EACH_KIND(OPWRIGHT_DEFINE_OPERATIONS)

}  // namespace opwright::opapi
