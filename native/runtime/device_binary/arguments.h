// native/runtime/device_binary/arguments.h
// aclrtKernelArgs*: the arguments of a launch, appended one by one.
#pragma once

#include <memory>
#include <vector>

#include "runtime/device_binary/binary.h"

namespace opwright {

class KernelArguments {
 public:
  explicit KernelArguments(std::shared_ptr<const DeviceFunction> function) : function_(std::move(function)) {}

  // Copies a value; the handle names it for `update`.
  void* append(const void* value, size_t bytes);
  void update(const void* handle, const void* value, size_t bytes);
  // No value may follow.
  void finalize();
  // Throws unless these are arguments of this kernel, and all that it takes.
  std::vector<const void*> for_launch_of(const DeviceFunction& function) const;

 private:
  using Value = std::vector<unsigned char>;
  std::shared_ptr<const DeviceFunction> function_;
  std::vector<std::unique_ptr<Value>> values_;  // a handle is the address of its value
  bool final_ = false;
};

Handles<KernelArguments>& kernel_arguments();

}  // namespace opwright
