// native/nnopbase/objects.h
// The objects behind the aclnn layer's opaque pointers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "aclnn/acl_meta.h"
#include "runtime/descriptors/data_type.h"
#include "runtime/error.h"

namespace opwright {

// Sizes or strides. Up to eight live in the object: descriptors are copied for every operator call.
class Dims {
 public:
  Dims() = default;
  Dims(const int64_t* values, size_t count) { assign(values, count); }
  Dims(const Dims& other) { assign(other.data(), other.size_); }
  Dims& operator=(const Dims& other) {
    if (this != &other) assign(other.data(), other.size_);
    return *this;
  }

  void assign(const int64_t* values, size_t count) {
    if (count > kInline) heap_ = std::make_unique<int64_t[]>(count);
    size_ = count;
    std::copy_n(values, count, data());
  }
  size_t size() const noexcept { return size_; }
  const int64_t* data() const noexcept { return size_ > kInline ? heap_.get() : inline_; }
  int64_t* data() noexcept { return size_ > kInline ? heap_.get() : inline_; }
  const int64_t* begin() const noexcept { return data(); }
  const int64_t* end() const noexcept { return data() + size_; }
  int64_t operator[](size_t i) const noexcept { return data()[i]; }
  bool operator==(const Dims& other) const noexcept { return std::equal(begin(), end(), other.begin(), other.end()); }

  int64_t product() const noexcept {
    int64_t result = 1;
    for (const int64_t value : *this) result *= value;
    return result;
  }

 private:
  static constexpr size_t kInline = 8;
  size_t size_ = 0;
  int64_t inline_[kInline];
  std::unique_ptr<int64_t[]> heap_;
};

// Of a tensor with these sizes whose elements lie one behind the other.
OPWRIGHT_API Dims contiguous_strides(const Dims& sizes);
// "[2, 3]"
OPWRIGHT_API std::string to_string(const Dims& dims);
// "float16"; "dtype 34" for one without a common name.
OPWRIGHT_API std::string dtype_name(aclDataType dtype);
// The byte in which element `index` begins, and the bytes that `count` elements take: of a type of 4 bits, the last may
// be half used.
inline size_t byte_of(int64_t index, aclDataType dtype) noexcept {
  return static_cast<size_t>(index) * bits_of(dtype) / 8;
}
inline size_t bytes_of(int64_t count, aclDataType dtype) noexcept {
  return (static_cast<size_t>(count) * bits_of(dtype) + 7) / 8;
}

}  // namespace opwright

struct aclTensor {
  opwright::Dims sizes;
  opwright::Dims strides;  // elements
  opwright::Dims storage_sizes;
  int64_t offset = 0;  // elements
  aclDataType dtype = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_ND;
  void* data = nullptr;  // start of the storage, a device address

  int64_t numel() const noexcept { return sizes.product(); }
  size_t storage_bytes() const noexcept { return opwright::bytes_of(storage_sizes.product(), dtype); }
};

struct aclScalar {
  aclDataType dtype;
  alignas(16) unsigned char value[16];

  template <class T>
  T as() const noexcept {
    T result;
    std::memcpy(&result, value, sizeof result);
    return result;
  }
};

struct aclIntArray {
  std::vector<int64_t> values;
};
struct aclFloatArray {
  std::vector<float> values;
};
struct aclBoolArray {
  std::vector<uint8_t> values;  // not vector<bool>: kernels need contiguous bytes
};
struct aclTensorList {
  std::vector<const aclTensor*> tensors;  // owned; entries may be null
};
struct aclScalarList {
  std::vector<const aclScalar*> scalars;  // owned
};
