// native/atb/abi.h
// The interface of libatb that torch_npu's bridge (libop_plugin_atb.so) is compiled against, as far as it decides the
// layout of objects and of virtual tables. Source: Ascend Transformer Boost (include/atb of its repository), and the
// copy of these headers that op-plugin 2.13.0 is built with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "acl/acl_desc.h"
#include "acl/acl_rt.h"

namespace atb {

using Status = int32_t;

enum ErrorType : int {
  NO_ERROR = 0,
  ERROR_INVALID_PARAM = 1,
  ERROR_INTERNAL_ERROR = 3,
  ERROR_INVALID_IN_TENSOR_NUM = 5,
  ERROR_INVALID_TENSOR_DTYPE = 6,
  ERROR_INVALID_TENSOR_FORMAT = 7,
  ERROR_INVALID_TENSOR_DIM = 8,
  ERROR_INVALID_TENSOR_SIZE = 9,
  ERROR_OPERATION_NULL_RUNNER = 10,
  ERROR_INVALID_TENSOR_ADDR = 14,
  ERROR_INVALID_TENSOR_NUM = 15,
  ERROR_INVALID_TENSOR_DIM_NUM = 16,
  ERROR_INVALID_CONTEXT_ADDR = 20,
  ERROR_INVALID_OPERATION_ADDR = 24,
  ERROR_OUT_OF_HOST_MEMORY = 27,
};

constexpr size_t kMostDimensions = 8;

struct Dims {
  int64_t dims[kMostDimensions];
  uint64_t dimNum;
};

struct TensorDesc {
  aclDataType dtype;
  aclFormat format;
  Dims shape;
};

// `hostData` is set for what lies on the host (lengths of sequences), `deviceData` for what lies on the device; neither
// for an operand that is not given.
struct Tensor {
  TensorDesc desc;
  void* deviceData;
  void* hostData;
  uint64_t dataSize;
};

// A vector with room for 65 entries inside, or memory of its own. Callers make and destroy it; libatb reads it, and
// sets the entries of one that the caller has given a size.
template <class T>
class SVector {
 public:
  SVector() = delete;
  SVector(const SVector&) = delete;
  SVector& operator=(const SVector&) = delete;

  size_t size() const noexcept { return size_; }
  const T* data() const noexcept { return own_ != nullptr ? own_ : inside_.data(); }
  T* data() noexcept { return own_ != nullptr ? own_ : inside_.data(); }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size_; }
  const T& operator[](size_t i) const noexcept { return data()[i]; }

 private:
  size_t capacity_;
  size_t size_;
  std::array<T, 65> inside_;
  T* own_;
};

struct VariantPack {
  SVector<Tensor> inTensors;
  SVector<Tensor> outTensors;
};

class Context {
 public:
  Context() = default;
  virtual ~Context() = default;
  virtual Status SetExecuteStream(aclrtStream stream) = 0;
  virtual aclrtStream GetExecuteStream() const = 0;
  virtual Status SetAsyncTilingCopyStatus(bool enable) = 0;
  virtual bool GetAsyncTilingCopyStatus() const = 0;
};

class Operation {
 public:
  Operation() = default;
  virtual ~Operation() = default;
  virtual std::string GetName() const = 0;
  virtual Status InferShape(const SVector<TensorDesc>& inputs, SVector<TensorDesc>& outputs) const = 0;
  virtual uint32_t GetInputNum() const = 0;
  virtual uint32_t GetOutputNum() const = 0;
  virtual Status Setup(const VariantPack& pack, uint64_t& workspaceSize, Context* context) = 0;
  virtual Status Execute(const VariantPack& pack, uint8_t* workspace, uint64_t workspaceSize, Context* context) = 0;
};

class Utils {
 public:
  __attribute__((visibility("default"))) static uint64_t GetTensorSize(const Tensor& tensor);
};

template <class Param>
Status CreateOperation(const Param& param, Operation** operation);

static_assert(sizeof(TensorDesc) == 80 && sizeof(Tensor) == 104);
static_assert(sizeof(SVector<Tensor>) == 6784 && sizeof(VariantPack) == 13568);

}  // namespace atb
