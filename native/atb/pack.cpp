// native/atb/pack.cpp
#include "atb/pack.h"

#include <algorithm>

#include "runtime/error.h"
#include "runtime/memory/memory.h"

namespace opwright::atb_library {

namespace {

template <class Value>
bool is_among(const Value& value, std::initializer_list<Value> allowed) {
  return std::find(allowed.begin(), allowed.end(), value) != allowed.end();
}

template <class Value, class Describe>
std::string joined(std::initializer_list<Value> allowed, const Describe& describe) {
  std::string result;
  for (const Value& value : allowed) result += (result.empty() ? "" : ", ") + describe(value);
  return result;
}

void require_count(size_t given, size_t needed, int code, const char* what) {
  require(given == needed, code, "the operation has ", needed, " ", what, ", but ", given, " are given");
}

}  // namespace

void require_rank(const aclTensor& tensor, const char* name, std::initializer_list<size_t> allowed) {
  require(is_among(tensor.sizes.size(), allowed), atb::ERROR_INVALID_TENSOR_DIM_NUM, "parameter '", name,
          "' has shape ", to_string(tensor.sizes),
          "; dimensions allowed: ", joined(allowed, [](size_t rank) { return std::to_string(rank); }));
}

void require_dtype(const aclTensor& tensor, const char* name, std::initializer_list<aclDataType> allowed) {
  require(is_among(tensor.dtype, allowed), atb::ERROR_INVALID_TENSOR_DTYPE, "parameter '", name, "' has dtype ",
          dtype_name(tensor.dtype), "; allowed: ", joined(allowed, dtype_name));
}

void require_size(const aclTensor& tensor, const char* name, size_t dim, int64_t size, const char* reason) {
  require(tensor.sizes[dim] == size, atb::ERROR_INVALID_TENSOR_DIM, "parameter '", name, "' has shape ",
          to_string(tensor.sizes), "; dimension ", dim, " must be ", size, ", ", reason);
}

void require_sizes(const aclTensor& tensor, const char* name, const Dims& sizes, const char* reason) {
  require(tensor.sizes == sizes && tensor.sizes.size() == sizes.size(), atb::ERROR_INVALID_TENSOR_DIM, "parameter '",
          name, "' has shape ", to_string(tensor.sizes), "; it must be ", to_string(sizes), ", ", reason);
}

aclIntArray host_numbers(const aclTensor& tensor, const char* name) {
  require(tensor.dtype == ACL_INT32, atb::ERROR_INVALID_TENSOR_DTYPE, "parameter '", name, "' has dtype ",
          dtype_name(tensor.dtype), "; it must be int32");
  require(tensor.data != nullptr || tensor.numel() == 0, atb::ERROR_INVALID_TENSOR_ADDR, "parameter '", name,
          "' has no memory; it must be a tensor of the host");
  require(!memory::is_device_address(tensor.data), atb::ERROR_INVALID_TENSOR_ADDR, "parameter '", name,
          "' lies on the device; it must be a tensor of the host, as .cpu() makes it");
  const auto* const first = static_cast<const int32_t*>(tensor.data) + tensor.offset;
  return {{first, first + tensor.numel()}};
}

Pack::Pack(const atb::VariantPack& pack, size_t inputs, size_t outputs) : pack_(pack) {
  require_count(pack.inTensors.size(), inputs, atb::ERROR_INVALID_IN_TENSOR_NUM, "inputs");
  require_count(pack.outTensors.size(), outputs, atb::ERROR_INVALID_TENSOR_NUM, "outputs");
}

aclTensor& Pack::made(const atb::Tensor& tensor, const char* name, void* data) {
  const atb::Dims& shape = tensor.desc.shape;
  require(shape.dimNum <= atb::kMostDimensions, atb::ERROR_INVALID_TENSOR_DIM_NUM, "parameter '", name, "' has ",
          shape.dimNum, " dimensions; at most ", atb::kMostDimensions, " are allowed");
  aclTensor& result = tensors_.emplace_back();
  result.sizes.assign(shape.dims, shape.dimNum);
  result.strides = contiguous_strides(result.sizes);
  const int64_t elements = result.sizes.product();
  result.storage_sizes.assign(&elements, 1);
  result.dtype = tensor.desc.dtype;
  result.format = tensor.desc.format;
  result.data = data;
  return result;
}

aclTensor& Pack::in(size_t i, const char* name) {
  const atb::Tensor& tensor = pack_.inTensors[i];
  aclTensor& result = made(tensor, name, tensor.deviceData);
  require(tensor.deviceData != nullptr || (tensor.hostData == nullptr && result.numel() == 0),
          atb::ERROR_INVALID_TENSOR_ADDR, "parameter '", name,
          tensor.hostData != nullptr ? "' lies on the host; it must be on the device" : "' has no memory");
  return result;
}

aclTensor& Pack::out(size_t i, const char* name) {
  const atb::Tensor& tensor = pack_.outTensors[i];
  aclTensor& result = made(tensor, name, tensor.deviceData);
  require(tensor.deviceData != nullptr || result.numel() == 0, atb::ERROR_INVALID_TENSOR_ADDR, "output '", name,
          "' has no memory on the device");
  return result;
}

const aclIntArray& Pack::lengths(size_t i, const char* name, std::initializer_list<size_t> ranks) {
  const atb::Tensor& tensor = pack_.inTensors[i];
  const aclTensor& numbers = made(tensor, name, tensor.hostData != nullptr ? tensor.hostData : tensor.deviceData);
  require_rank(numbers, name, ranks);
  return arrays_.emplace_back(host_numbers(numbers, name));
}

}  // namespace opwright::atb_library
