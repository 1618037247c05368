// native/runtime/descriptors/tensor_desc.cpp
// aclTensorDesc: create, read, change, destroy.
#include "runtime/descriptors/tensor_desc.h"

#include <memory>

#include "acl/acl_desc.h"
#include "acl/acl_op.h"
#include "runtime/call.h"
#include "runtime/descriptors/data_type.h"

using namespace opwright;

namespace {

template <class Desc>
Desc& checked(Desc* desc) {
  return out(desc, "desc", ACL_ERROR_INVALID_PARAM);
}

std::vector<int64_t> copy_dims(int numDims, const int64_t* dims) {
  require(numDims >= 0, ACL_ERROR_INVALID_PARAM, "parameter 'numDims' is ", numDims, "; it must not be negative");
  require(numDims == 0 || dims != nullptr, ACL_ERROR_INVALID_PARAM, "parameter 'dims' is null with numDims ", numDims);
  return {dims, dims + numDims};
}

int64_t dim_at(const aclTensorDesc& desc, size_t index) {
  require(index < desc.dims.size(), ACL_ERROR_INVALID_PARAM, "parameter 'index' is ", index, " but the tensor has ",
          desc.dims.size(), " dimensions");
  return desc.dims[index];
}

}  // namespace

size_t opwright::element_count(const aclTensorDesc& desc) {
  size_t count = 1;
  for (const int64_t dim : desc.dims) {
    require(dim >= 0, ACL_ERROR_INVALID_PARAM, "the tensor has a dimension of ", dim, "; its size is not known");
    require(!__builtin_mul_overflow(count, static_cast<size_t>(dim), &count), ACL_ERROR_INVALID_PARAM,
            "the number of elements exceeds 64 bits");
  }
  return count;
}

aclTensorDesc* aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t* dims, aclFormat format) {
  aclTensorDesc* created = nullptr;
  call(
      "aclCreateTensorDesc",
      [&] {
        auto desc = std::make_unique<aclTensorDesc>();
        desc->data_type = dataType;
        desc->dims = copy_dims(numDims, dims);
        desc->format = format;
        created = desc.release();
      },
      arg("dataType", dataType), arg("numDims", numDims), arg("format", format));
  return created;
}

void aclDestroyTensorDesc(const aclTensorDesc* desc) {
  call("aclDestroyTensorDesc", [&] { std::unique_ptr<const aclTensorDesc>{desc}.reset(); });
}

aclDataType aclGetTensorDescType(const aclTensorDesc* desc) {
  aclDataType type = ACL_DT_UNDEFINED;
  call("aclGetTensorDescType", [&] { type = checked(desc).data_type; });
  return type;
}

aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc) {
  aclFormat format = ACL_FORMAT_UNDEFINED;
  call("aclGetTensorDescFormat", [&] { format = checked(desc).format; });
  return format;
}

size_t aclGetTensorDescNumDims(const aclTensorDesc* desc) {
  size_t rank = 0;
  call("aclGetTensorDescNumDims", [&] { rank = checked(desc).dims.size(); });
  return rank;
}

aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index, int64_t* dimSize) {
  return call(
      "aclGetTensorDescDimV2", [&] { out(dimSize, "dimSize", ACL_ERROR_INVALID_PARAM) = dim_at(checked(desc), index); },
      arg("index", index));
}

int64_t aclGetTensorDescDim(const aclTensorDesc* desc, size_t index) {
  int64_t dim = -1;
  call("aclGetTensorDescDim", [&] { dim = dim_at(checked(desc), index); }, arg("index", index));
  return dim;
}

size_t aclGetTensorDescElementCount(const aclTensorDesc* desc) {
  size_t count = 0;
  call("aclGetTensorDescElementCount", [&] { count = element_count(checked(desc)); });
  return count;
}

size_t aclGetTensorDescSize(const aclTensorDesc* desc) {
  size_t bytes = 0;
  call("aclGetTensorDescSize", [&] {
    const size_t bits = bits_of(checked(desc).data_type);
    require(bits != 0, ACL_ERROR_INVALID_PARAM, "data type ", desc->data_type, " has no fixed size");
    size_t total = 0;
    require(!__builtin_mul_overflow(element_count(*desc), bits, &total), ACL_ERROR_INVALID_PARAM,
            "the size of the tensor exceeds 64 bits");
    bytes = total / 8 + (total % 8 != 0 ? 1 : 0);
  });
  return bytes;
}

void aclSetTensorDescName(aclTensorDesc* desc, const char* name) {
  call("aclSetTensorDescName", [&] { checked(desc).name = name == nullptr ? "" : name; }, arg("name", name));
}

const char* aclGetTensorDescName(aclTensorDesc* desc) {
  const char* name = "";
  call("aclGetTensorDescName", [&] { name = checked(desc).name.c_str(); });
  return name;
}

aclError aclSetTensorFormat(aclTensorDesc* desc, aclFormat format) {
  return call("aclSetTensorFormat", [&] { checked(desc).storage_format = format; }, arg("format", format));
}

aclError aclSetTensorShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return call(
      "aclSetTensorShape", [&] { checked(desc).storage_dims = copy_dims(numDims, dims); }, arg("numDims", numDims));
}

// The older names of the two functions above.
aclError aclSetTensorStorageFormat(aclTensorDesc* desc, aclFormat format) { return aclSetTensorFormat(desc, format); }

aclError aclSetTensorStorageShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return aclSetTensorShape(desc, numDims, dims);
}

aclError aclSetTensorOriginFormat(aclTensorDesc* desc, aclFormat format) {
  return call("aclSetTensorOriginFormat", [&] { checked(desc).format = format; }, arg("format", format));
}

aclError aclSetTensorOriginShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return call(
      "aclSetTensorOriginShape", [&] { checked(desc).dims = copy_dims(numDims, dims); }, arg("numDims", numDims));
}

aclError aclSetTensorPlaceMent(aclTensorDesc* desc, aclMemType memType) {
  return call("aclSetTensorPlaceMent", [&] { checked(desc).placement = memType; }, arg("memType", memType));
}

aclError aclSetTensorConst(aclTensorDesc* desc, void* dataBuffer, size_t length) {
  return call(
      "aclSetTensorConst",
      [&] {
        require(length > 0, ACL_ERROR_INVALID_PARAM, "parameter 'length' is 0");
        const auto* const bytes = &out(static_cast<uint8_t*>(dataBuffer), "dataBuffer", ACL_ERROR_INVALID_PARAM);
        checked(desc).constant.assign(bytes, bytes + length);
      },
      arg("length", length));
}
