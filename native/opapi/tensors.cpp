// native/opapi/tensors.cpp
#include "opapi/tensors.h"

#include <ATen/core/LegacyTypeDispatch.h>

#include "nnopbase/operand.h"
#include "nnopbase/validate.h"
#include "opapi/threads.h"
#include "opapi/tiled_format.h"

namespace opwright::opapi {

at::ScalarType scalar_type(aclDataType dtype) {
  switch (dtype) {
    case ACL_FLOAT:
      return at::kFloat;
    case ACL_FLOAT16:
      return at::kHalf;
    case ACL_BF16:
      return at::kBFloat16;
    case ACL_DOUBLE:
      return at::kDouble;
    case ACL_BOOL:
      return at::kBool;
    case ACL_INT8:
      return at::kChar;
    case ACL_INT16:
      return at::kShort;
    case ACL_INT32:
      return at::kInt;
    case ACL_INT64:
      return at::kLong;
    case ACL_UINT8:
      return at::kByte;
    case ACL_UINT16:
      return at::kUInt16;
    case ACL_UINT32:
      return at::kUInt32;
    case ACL_UINT64:
      return at::kUInt64;
    case ACL_COMPLEX32:
      return at::kComplexHalf;
    case ACL_COMPLEX64:
      return at::kComplexFloat;
    case ACL_COMPLEX128:
      return at::kComplexDouble;
    case ACL_FLOAT8_E5M2:
      return at::kFloat8_e5m2;
    case ACL_FLOAT8_E4M3FN:
      return at::kFloat8_e4m3fn;
    case ACL_FLOAT8_E8M0:
      return at::kFloat8_e8m0fnu;
    default:
      fail(ACLNN_ERR_PARAM_INVALID, dtype_name(dtype), " has no counterpart among torch's dtypes");
  }
}

at::Scalar scalar(const aclScalar& value) {
  switch (value.dtype) {
    case ACL_DOUBLE:
      return value.as<double>();
    case ACL_FLOAT:
      return value.as<float>();
    case ACL_FLOAT16:
      return static_cast<float>(value.as<at::Half>());
    case ACL_BF16:
      return static_cast<float>(value.as<at::BFloat16>());
    case ACL_BOOL:
      return value.as<bool>();
    case ACL_INT8:
      return value.as<int8_t>();
    case ACL_UINT8:
      return value.as<uint8_t>();
    case ACL_INT16:
      return value.as<int16_t>();
    case ACL_INT32:
      return value.as<int32_t>();
    case ACL_INT64:
      return value.as<int64_t>();
    case ACL_UINT16:
      return static_cast<int64_t>(value.as<uint16_t>());
    case ACL_UINT32:
      return static_cast<int64_t>(value.as<uint32_t>());
    case ACL_UINT64:
      return value.as<uint64_t>();
    case ACL_COMPLEX64:
      return value.as<c10::complex<float>>();
    case ACL_COMPLEX128:
      return value.as<c10::complex<double>>();
    default:
      fail(ACLNN_ERR_PARAM_INVALID, "a scalar cannot have ", dtype_name(value.dtype));
  }
}

void validate(const aclTensor& tensor, const char* name) {
  try {
    scalar_type(tensor.dtype);
  } catch (const Error& error) {
    throw Error(error.code(), text("parameter '", name, "': ", error.text()));
  }
  if (is_tiled(tensor.format)) {
    validate_tiled(tensor, name);
  } else {
    opwright::validate(tensor, name);
  }
  note_operand(tensor.numel());
}

at::Tensor view_of(const aclTensor& tensor) {
  void* const data = storage_of(tensor);
  const at::ScalarType dtype = scalar_type(tensor.dtype);
  c10::Storage storage(c10::Storage::use_byte_size_t(), tensor.storage_bytes(), at::DataPtr(data, at::Device(at::kCPU)),
                       nullptr, /*resizable=*/false);
  at::Tensor result = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(dtype));
  c10::TensorImpl* const impl = result.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(at::IntArrayRef(tensor.sizes.data(), tensor.sizes.size()),
                              at::IntArrayRef(tensor.strides.data(), tensor.strides.size()), tensor.offset);
  return result;
}

}  // namespace opwright::opapi
