// src/device.h
// A program that calls aclnn functions needs a device with a stream, tensors in its memory, and the two phases of a
// call. Everything that a constructor takes, its destructor gives back.
#pragma once

#include <acl/acl.h>
#include <aclnn/aclnn_base.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Throws for a code that is not 0. The text belongs to the thread and to its last error.
inline void check(int code, const std::string& name) {
  if (code == ACL_SUCCESS) return;
  const char* const message = aclGetRecentErrMsg();
  throw std::runtime_error(name + " failed with " + std::to_string(code) + ": " + (message ? message : ""));
}

class Device {
 public:
  Device() {
    check(aclInit(nullptr), "aclInit");
    check(aclrtSetDevice(0), "aclrtSetDevice");
    check(aclrtCreateStream(&stream_), "aclrtCreateStream");
  }
  ~Device() {
    aclrtDestroyStream(stream_);
    aclrtResetDevice(0);
    aclFinalize();
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  aclrtStream stream() const { return stream_; }

 private:
  aclrtStream stream_ = nullptr;
};

// A dense float tensor in device memory.
class Tensor {
 public:
  Tensor(std::vector<int64_t> shape, const std::vector<float>& values) : bytes_(values.size() * sizeof(float)) {
    check(aclrtMalloc(&memory_, bytes_, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    check(aclrtMemcpy(memory_, bytes_, values.data(), bytes_, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t i = shape.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * shape[i - 1];
    tensor_ = aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, strides.data(), 0, ACL_FORMAT_ND, shape.data(),
                              shape.size(), memory_);
  }
  ~Tensor() {
    aclDestroyTensor(tensor_);
    aclrtFree(memory_);
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  aclTensor* get() const { return tensor_; }

  // The values, once everything on the stream is done.
  std::vector<float> values(const Device& device) const {
    check(aclrtSynchronizeStream(device.stream()), "aclrtSynchronizeStream");
    std::vector<float> result(bytes_ / sizeof(float));
    check(aclrtMemcpy(result.data(), bytes_, memory_, bytes_, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy");
    return result;
  }

 private:
  size_t bytes_;
  void* memory_ = nullptr;
  aclTensor* tensor_ = nullptr;
};

using SecondPhase = aclnnStatus (*)(void* workspace, uint64_t size, aclOpExecutor* executor, aclrtStream stream);

// Phase 1 checks the arguments and says how much workspace the operator needs; phase 2 puts it on the stream.
template <class FirstPhase, class... Arguments>
void run(const Device& device, const char* name, FirstPhase first, SecondPhase second, Arguments... arguments) {
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  check(first(arguments..., &size, &executor), std::string(name) + "GetWorkspaceSize");
  void* workspace = nullptr;
  if (size > 0) check(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  const int code = second(workspace, size, executor, device.stream());
  // The operator runs later, and may use its workspace until then.
  if (workspace != nullptr) {
    aclrtSynchronizeStream(device.stream());
    aclrtFree(workspace);
  }
  check(code, name);
}

#define RUN(DEVICE, NAME, ...) run(DEVICE, #NAME, NAME##GetWorkspaceSize, NAME, __VA_ARGS__)
