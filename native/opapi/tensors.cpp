// native/opapi/tensors.cpp
#include "opapi/tensors.h"

#include <ATen/core/LegacyTypeDispatch.h>

#include "runtime/memory.h"

namespace opwright::opapi {
namespace {

bool is_base_format(aclFormat format) {
  switch (format) {
    case ACL_FORMAT_NCHW:
    case ACL_FORMAT_NHWC:
    case ACL_FORMAT_ND:
    case ACL_FORMAT_NCDHW:
    case ACL_FORMAT_NDHWC:
    case ACL_FORMAT_NC:
    case ACL_FORMAT_NCL:
      return true;
    default:
      return false;
  }
}

struct Extent {
  int64_t first = 0;  // elements from the start of the storage
  int64_t last = 0;
};

// The elements that a non-empty view touches.
Extent extent_of(const aclTensor& tensor) {
  Extent extent{tensor.offset, tensor.offset};
  for (size_t i = 0; i < tensor.sizes.size(); ++i) {
    const int64_t reach = (tensor.sizes[i] - 1) * tensor.strides[i];
    (reach < 0 ? extent.first : extent.last) += reach;
  }
  return extent;
}

size_t bytes_to(int64_t elements, aclDataType dtype) { return static_cast<size_t>(elements) * dtype_bits(dtype) / 8; }

}  // namespace

at::ScalarType scalar_type(aclDataType dtype) {
  switch (dtype) {
    case ACL_FLOAT: return at::kFloat;
    case ACL_FLOAT16: return at::kHalf;
    case ACL_BF16: return at::kBFloat16;
    case ACL_DOUBLE: return at::kDouble;
    case ACL_BOOL: return at::kBool;
    case ACL_INT8: return at::kChar;
    case ACL_INT16: return at::kShort;
    case ACL_INT32: return at::kInt;
    case ACL_INT64: return at::kLong;
    case ACL_UINT8: return at::kByte;
    case ACL_UINT16: return at::kUInt16;
    case ACL_UINT32: return at::kUInt32;
    case ACL_UINT64: return at::kUInt64;
    case ACL_COMPLEX32: return at::kComplexHalf;
    case ACL_COMPLEX64: return at::kComplexFloat;
    case ACL_COMPLEX128: return at::kComplexDouble;
    case ACL_FLOAT8_E5M2: return at::kFloat8_e5m2;
    case ACL_FLOAT8_E4M3FN: return at::kFloat8_e4m3fn;
    case ACL_FLOAT8_E8M0: return at::kFloat8_e8m0fnu;
    default: fail(ACLNN_ERR_PARAM_INVALID, dtype_name(dtype), " has no counterpart among torch's dtypes");
  }
}

at::Scalar scalar(const aclScalar& value) {
  switch (value.dtype) {
    case ACL_DOUBLE: return value.as<double>();
    case ACL_FLOAT: return value.as<float>();
    case ACL_FLOAT16: return static_cast<float>(value.as<at::Half>());
    case ACL_BF16: return static_cast<float>(value.as<at::BFloat16>());
    case ACL_BOOL: return value.as<bool>();
    case ACL_INT8: return value.as<int8_t>();
    case ACL_UINT8: return value.as<uint8_t>();
    case ACL_INT16: return value.as<int16_t>();
    case ACL_INT32: return value.as<int32_t>();
    case ACL_INT64: return value.as<int64_t>();
    case ACL_UINT16: return static_cast<int64_t>(value.as<uint16_t>());
    case ACL_UINT32: return static_cast<int64_t>(value.as<uint32_t>());
    case ACL_UINT64: return value.as<uint64_t>();
    case ACL_COMPLEX64: return value.as<c10::complex<float>>();
    case ACL_COMPLEX128: return value.as<c10::complex<double>>();
    default: fail(ACLNN_ERR_PARAM_INVALID, "a scalar cannot have ", dtype_name(value.dtype));
  }
}

void validate(const aclTensor& tensor, const char* name) {
  try {
    scalar_type(tensor.dtype);
  } catch (const Error& error) {
    throw Error(error.code(), text("parameter '", name, "': ", error.text()));
  }
  require(is_base_format(tensor.format), ACLNN_ERR_PARAM_INVALID, "parameter '", name, "': storage format ",
          static_cast<int>(tensor.format), " is not available; cast the tensor to ND (2) first");
  if (tensor.numel() == 0) return;
  const Extent extent = extent_of(tensor);
  const int64_t storage = tensor.storage_sizes.product();
  require(extent.first >= 0 && extent.last < storage, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "': the view ",
          to_string(tensor.sizes), " with strides ", to_string(tensor.strides), " and offset ", tensor.offset,
          " reaches elements ", extent.first, " to ", extent.last, " of a storage with ", storage);
  memory::checked_alias(static_cast<const char*>(tensor.data) + bytes_to(extent.first, tensor.dtype),
                        bytes_to(extent.last - extent.first + 1, tensor.dtype), name, ACLNN_ERR_PARAM_INVALID);
}

at::Tensor view_of(const aclTensor& tensor, const char* name) {
  void* const data = tensor.numel() == 0 || tensor.data == nullptr
                         ? nullptr
                         : memory::checked_alias(tensor.data, 1, name, ACLNN_ERR_PARAM_INVALID);
  const at::ScalarType dtype = scalar_type(tensor.dtype);
  c10::Storage storage(c10::Storage::use_byte_size_t(), tensor.storage_bytes(),
                       at::DataPtr(data, at::Device(at::kCPU)), nullptr, /*resizable=*/false);
  at::Tensor result = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(dtype));
  c10::TensorImpl* const impl = result.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(at::IntArrayRef(tensor.sizes.data(), tensor.sizes.size()),
                              at::IntArrayRef(tensor.strides.data(), tensor.strides.size()), tensor.offset);
  return result;
}

std::string summary(const aclTensor& tensor) { return dtype_name(tensor.dtype) + to_string(tensor.sizes); }

}  // namespace opwright::opapi
