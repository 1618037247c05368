// native/runtime/device_binary/binary.h
// Device binaries that libacl_rtc compiled for this CPU: loaded from memory, their kernels found by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "acl/acl_rt.h"
#include "runtime/device_binary/interface.h"
#include "runtime/error.h"
#include "runtime/handle.h"

namespace opwright {

class DeviceBinary;

// A kernel of a loaded binary, which stays loaded as long as one of its kernels is known.
struct DeviceFunction {
  std::shared_ptr<const DeviceBinary> binary;
  const opwright_device_function_t* function;
  std::string symbol;  // its name on the device

  void launch(uint32_t blocks, aclrtStream stream, const void* const* arguments) const;
  // The places of the parameters in a block of arguments that is laid out as a C structure.
  std::vector<const void*> split(const void* block, size_t bytes) const;
};

class DeviceBinary : public std::enable_shared_from_this<DeviceBinary> {
 public:
  // Throws 107000 for data that is no binary of libacl_rtc.
  DeviceBinary(const void* data, size_t bytes);
  ~DeviceBinary();
  DeviceBinary(const DeviceBinary&) = delete;
  DeviceBinary& operator=(const DeviceBinary&) = delete;

  // A handle of the kernel with this symbol; of a kernel that is no template, its name in the source does as well.
  // Throws 507027 with the names that there are.
  void* function(const std::string& name);
  void launch(const opwright_device_function_t& function, uint32_t blocks, aclrtStream stream,
              const void* const* arguments) const;
  const std::vector<std::string>& symbols() const { return symbols_; }
  // Takes back the handles of its kernels.
  void unload();

 private:
  int file_ = -1;
  void* library_ = nullptr;
  const opwright_device_binary_t* table_ = nullptr;
  std::vector<std::string> symbols_;  // of the kernels, in their order
  std::vector<void*> handles_;        // nullptr until a kernel is asked for
};

// The symbols of a binary's kernels, in the order of its table.
OPWRIGHT_API std::vector<std::string> kernel_symbols(const void* data, size_t bytes);

Handles<DeviceBinary>& device_binaries();
Handles<DeviceFunction>& device_functions();

}  // namespace opwright
