// native/live/npu/npu.h
// The live tier's needs of torch_npu. npu.cpp alone includes its headers, which take ten seconds.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

struct aclOpExecutor;

namespace opwright::live::npu {

// The aclTensor, aclScalar, … of one call; destroyed with it, whether or not the function ran.
class Objects {
 public:
  using Destroy = int (*)(const void*);

  Objects() = default;
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;
  ~Objects() { clear(); }
  void clear() noexcept;

  // Each returns what is passed to the function; null for an undefined tensor and an empty list of tensors.
  void* tensor(const at::Tensor& value);
  void* tensors(at::TensorList values);
  void* scalar(const at::Scalar& value);
  void* scalars(c10::ArrayRef<at::Scalar> values);
  void* ints(at::IntArrayRef values);
  void* floats(c10::ArrayRef<float> values);
  void* bools(c10::ArrayRef<bool> values);

 private:
  void* keep(const void* object, Destroy destroy);

  struct Entry {
    const void* object;
    Destroy destroy;
  };
  c10::SmallVector<Entry, 8> entries_;
};

int64_t acl_dtype(at::ScalarType dtype);

at::Tensor empty(at::IntArrayRef sizes, at::ScalarType dtype, at::Device device);

// The seed and the offset of one call, drawn from the caller's generator, else from that of the current device.
struct Drawn {
  int64_t seed, offset;
};
Drawn draw(const std::optional<at::Generator>& generator);

// The current device, for operators without a tensor.
at::Device current_device();

// The address of a function in the custom libraries and libopapi, as torch_npu searches them; null if none has it.
void* find(const std::string& function);

// The text of the last error of CANN on this thread.
std::string recent_error();

// CANN's state of this thread while phase 1 runs, on the current stream.
class Phase1 {
 public:
  Phase1();
  ~Phase1();
  Phase1(const Phase1&) = delete;
  Phase1& operator=(const Phase1&) = delete;
  void* stream() const { return stream_; }

 private:
  void* stream_;
};

// Phase 2, as torch_npu's task queue runs it: the address of the function, or for a reference function its name.
struct Phase2 {
  using Reference = int (*)(const char* function, void* workspace, uint64_t size, aclOpExecutor* executor,
                            void* stream);
  void* address = nullptr;
  Reference reference = nullptr;
  const char* function = nullptr;
};

// Allocates the workspace and puts phase 2 into the task queue; `objects` are destroyed when it ran.
void enqueue(const std::string& name, const Phase2& phase2, uint64_t workspace_size, aclOpExecutor* executor,
             void* stream, std::shared_ptr<Objects> objects);

}  // namespace opwright::live::npu
