// native/nnopbase/objects.cpp
// Creation, destruction and reading of the aclnn objects.
#include "nnopbase/objects.h"

#include <new>

#include "runtime/call.h"

using namespace opwright;

namespace opwright {
namespace {

struct NamedDtype {
  aclDataType code;
  const char* name;
};

constexpr NamedDtype kDtypes[] = {
    {ACL_FLOAT, "float32"},
    {ACL_FLOAT16, "float16"},
    {ACL_INT8, "int8"},
    {ACL_INT32, "int32"},
    {ACL_UINT8, "uint8"},
    {ACL_INT16, "int16"},
    {ACL_UINT16, "uint16"},
    {ACL_UINT32, "uint32"},
    {ACL_INT64, "int64"},
    {ACL_UINT64, "uint64"},
    {ACL_DOUBLE, "float64"},
    {ACL_BOOL, "bool"},
    {ACL_COMPLEX64, "complex64"},
    {ACL_COMPLEX128, "complex128"},
    {ACL_BF16, "bfloat16"},
    {ACL_INT4, "int4"},
    {ACL_UINT1, "uint1"},
    {ACL_COMPLEX32, "complex32"},
    {ACL_HIFLOAT8, "hifloat8"},
    {ACL_FLOAT8_E5M2, "float8_e5m2"},
    {ACL_FLOAT8_E4M3FN, "float8_e4m3fn"},
    {ACL_FLOAT8_E8M0, "float8_e8m0"},
    {ACL_FLOAT4_E2M1, "float4_e2m1"},
    {ACL_FLOAT4_E1M2, "float4_e1m2"},
};

// Sizes whose bytes, and whose dense strides, are 64-bit numbers; no device has as many elements.
void require_countable(const Dims& sizes, const char* what) {
  constexpr int64_t kMostElements = int64_t{1} << 55;
  int64_t count = 1;
  for (const int64_t size : sizes) {
    require(!__builtin_mul_overflow(count, std::max<int64_t>(size, 1), &count) && count <= kMostElements,
            ACLNN_ERR_PARAM_INVALID, what, " ", to_string(sizes), " has more than ", kMostElements, " elements");
  }
}

// `values` is the caller's parameter `name`, an array whose length is the parameter `count_name`.
void require_elements(const void* values, const char* name, uint64_t count, const char* count_name) {
  require(values != nullptr || count == 0, ACLNN_ERR_PARAM_NULLPTR, "parameter '", name, "' is null, but '", count_name,
          "' is ", count, "; allowed: a pointer to ", count, " elements, or null with 0");
}

// `format` and `storage` are kept as given: base formats describe the storage as one dimension, private ones by shape.
void fill(aclTensor& tensor, const int64_t* sizes, uint64_t rank, aclDataType dtype, const int64_t* strides,
          int64_t offset, aclFormat format, const int64_t* storage, uint64_t storage_rank, void* data) {
  require_elements(sizes, "viewDims", rank, "viewDimsNum");
  require_elements(storage, "storageDims", storage_rank, "storageDimsNum");
  tensor.sizes.assign(sizes, rank);
  for (const int64_t size : tensor.sizes) {
    require(size >= 0, ACLNN_ERR_PARAM_INVALID, "size ", size, " in ", to_string(tensor.sizes), " is negative");
  }
  require_countable(tensor.sizes, "the view");
  if (strides != nullptr) {
    tensor.strides.assign(strides, rank);
  } else {
    tensor.strides = contiguous_strides(tensor.sizes);
  }
  tensor.storage_sizes = storage_rank > 0 ? Dims(storage, storage_rank) : tensor.sizes;
  require_countable(tensor.storage_sizes, "the storage");
  tensor.offset = offset;
  tensor.dtype = dtype;
  tensor.format = format;
  tensor.data = data;
}

// An array of the caller, as it appears in the trace.
template <class T>
struct Listed {
  const T* values;
  uint64_t size;

  friend std::ostream& operator<<(std::ostream& stream, const Listed& list) {
    if (list.values == nullptr) return stream << "null";
    stream << '[';
    for (uint64_t i = 0; i < list.size; ++i) stream << (i == 0 ? "" : ", ") << list.values[i];
    return stream << ']';
  }
};
template <class T>
Listed(const T*, uint64_t) -> Listed<T>;

// Creators answer null on error; the text is in the error channel.
template <class T, class Body, class... Args>
T* create(const char* function, Body&& body, const Args&... args) noexcept {
  std::unique_ptr<T> object;
  const int status = call(
      function,
      [&] {
        object = std::make_unique<T>();
        body(*object);
      },
      args...);
  return status == ACL_SUCCESS ? object.release() : nullptr;
}

template <class T>
aclnnStatus destroy(const char* function, const T* object) noexcept {
  const trace::Span span(function, arg("object", static_cast<const void*>(object)));
  delete object;  // null is allowed: callers destroy absent arguments too
  return ACLNN_SUCCESS;
}

template <class T>
std::vector<T> copied(const T* values, uint64_t size) {
  require_elements(values, "value", size, "size");
  return std::vector<T>(values, values + size);
}

// Callers free the array with delete[].
void hand_out(const Dims& dims, int64_t** values, uint64_t* count) {
  int64_t*& array = opwright::out(values, "values", ACLNN_ERR_PARAM_NULLPTR);
  opwright::out(count, "count", ACLNN_ERR_PARAM_NULLPTR) = dims.size();
  array = new int64_t[dims.size()];
  std::copy(dims.begin(), dims.end(), array);
}

template <class T>
const T& given(const T* object, const char* name) {
  require(object != nullptr, ACLNN_ERR_PARAM_NULLPTR, "parameter '", name, "' is null");
  return *object;
}

template <class T>
T& result(T* pointer) {
  return opwright::out(pointer, "result", ACLNN_ERR_PARAM_NULLPTR);
}

}  // namespace

Dims contiguous_strides(const Dims& sizes) {
  Dims strides = sizes;
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides.data()[i] = stride;
    stride *= sizes[i];
  }
  return strides;
}

std::string to_string(const Dims& dims) {
  std::string result = "[";
  for (const int64_t value : dims) {
    if (result.size() > 1) result += ", ";
    result += std::to_string(value);
  }
  return result + "]";
}

std::string dtype_name(aclDataType dtype) {
  for (const NamedDtype& entry : kDtypes) {
    if (entry.code == dtype) return entry.name;
  }
  return text("dtype ", static_cast<int>(dtype));
}

}  // namespace opwright

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t* stride,
                           int64_t offset, aclFormat format, const int64_t* storageDims, uint64_t storageDimsNum,
                           void* tensorData) {
  return create<aclTensor>(
      "aclCreateTensor",
      [&](aclTensor& tensor) {
        fill(tensor, viewDims, viewDimsNum, dataType, stride, offset, format, storageDims, storageDimsNum, tensorData);
      },
      arg("viewDims", Listed{viewDims, viewDimsNum}), arg("dataType", dataType),
      arg("stride", Listed{stride, viewDimsNum}), arg("offset", offset), arg("format", format),
      arg("storageDims", Listed{storageDims, storageDimsNum}), arg("tensorData", tensorData));
}

aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                          const int64_t* stride, int64_t offset, aclFormat format, const int64_t* storageDims,
                          uint64_t storageDimsNum, void* tensorDataAddr) {
  return call("aclInitTensor", [&] {
    fill(opwright::out(tensor, "tensor", ACLNN_ERR_PARAM_NULLPTR), viewDims, viewDimsNum, dataType, stride, offset,
         format, storageDims, storageDimsNum, tensorDataAddr);
  });
}

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
  return create<aclScalar>(
      "aclCreateScalar",
      [&](aclScalar& scalar) {
        const size_t bytes = bits_of(dataType) / 8;
        require(value != nullptr, ACLNN_ERR_PARAM_NULLPTR,
                "parameter 'value' is null; allowed: a pointer to a value of ", dtype_name(dataType));
        require(bytes > 0 && bytes <= sizeof scalar.value, ACLNN_ERR_PARAM_INVALID, "a scalar cannot have ",
                dtype_name(dataType));
        scalar.dtype = dataType;
        std::memcpy(scalar.value, value, bytes);
      },
      arg("dataType", dataType));
}

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
  return create<aclIntArray>(
      "aclCreateIntArray", [&](aclIntArray& array) { array.values = copied(value, size); },
      arg("value", Listed{value, size}));
}

aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
  return create<aclFloatArray>(
      "aclCreateFloatArray", [&](aclFloatArray& array) { array.values = copied(value, size); },
      arg("value", Listed{value, size}));
}

aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
  return create<aclBoolArray>(
      "aclCreateBoolArray",
      [&](aclBoolArray& array) {
        require_elements(value, "value", size, "size");
        array.values.assign(value, value + size);
      },
      arg("value", Listed{value, size}));
}

aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
  return create<aclTensorList>(
      "aclCreateTensorList", [&](aclTensorList& list) { list.tensors = copied(value, size); }, arg("size", size));
}

aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
  return create<aclScalarList>(
      "aclCreateScalarList", [&](aclScalarList& list) { list.scalars = copied(value, size); }, arg("size", size));
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) { return destroy("aclDestroyTensor", tensor); }
aclnnStatus aclDestroyScalar(const aclScalar* scalar) { return destroy("aclDestroyScalar", scalar); }
aclnnStatus aclDestroyIntArray(const aclIntArray* array) { return destroy("aclDestroyIntArray", array); }
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) { return destroy("aclDestroyFloatArray", array); }
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) { return destroy("aclDestroyBoolArray", array); }

aclnnStatus aclDestroyTensorList(const aclTensorList* array) {
  if (array != nullptr) std::for_each(array->tensors.begin(), array->tensors.end(), aclDestroyTensor);
  return destroy("aclDestroyTensorList", array);
}

aclnnStatus aclDestroyScalarList(const aclScalarList* array) {
  if (array != nullptr) std::for_each(array->scalars.begin(), array->scalars.end(), aclDestroyScalar);
  return destroy("aclDestroyScalarList", array);
}

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
  return call("aclGetViewShape", [&] { hand_out(given(tensor, "tensor").sizes, viewDims, viewDimsNum); });
}

aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue, uint64_t* stridesNum) {
  return call("aclGetViewStrides", [&] { hand_out(given(tensor, "tensor").strides, stridesValue, stridesNum); });
}

aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims, uint64_t* storageDimsNum) {
  return call("aclGetStorageShape",
              [&] { hand_out(given(tensor, "tensor").storage_sizes, storageDims, storageDimsNum); });
}

aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
  return call("aclGetViewOffset", [&] { result(offset) = given(tensor, "tensor").offset; });
}

aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
  return call("aclGetDataType", [&] { result(dataType) = given(tensor, "tensor").dtype; });
}

aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
  return call("aclGetFormat", [&] { result(format) = given(tensor, "tensor").format; });
}

aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) {
  return call("aclGetRawTensorAddr", [&] { result(addr) = given(tensor, "tensor").data; });
}

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
  return call("aclSetRawTensorAddr", [&] { opwright::out(tensor, "tensor", ACLNN_ERR_PARAM_NULLPTR).data = addr; });
}

aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
  return call("aclGetIntArraySize", [&] { result(size) = given(array, "array").values.size(); });
}

aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
  return call("aclGetFloatArraySize", [&] { result(size) = given(array, "array").values.size(); });
}

aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
  return call("aclGetBoolArraySize", [&] { result(size) = given(array, "array").values.size(); });
}

aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size) {
  return call("aclGetTensorListSize", [&] { result(size) = given(tensorList, "tensorList").tensors.size(); });
}

aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size) {
  return call("aclGetScalarListSize", [&] { result(size) = given(scalarList, "scalarList").scalars.size(); });
}
