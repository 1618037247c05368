// native/runtime/device_binary/binary.cpp
#include "runtime/device_binary/binary.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace opwright {
namespace {

// A file in memory with this content. Its path is that of a descriptor, which stays open: the runtime of kernels looks
// up the lines of faults in the file.
int file_with(const void* data, size_t bytes) {
  const int file = memfd_create("device-binary", MFD_CLOEXEC);
  require(file >= 0, ACL_ERROR_RT_MEMORY_ALLOCATION, "no memory for a device binary of ", bytes, " bytes");
  for (size_t written = 0; written < bytes;) {
    const ssize_t part = write(file, static_cast<const char*>(data) + written, bytes - written);
    if (part <= 0) {
      close(file);
      fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "no memory for a device binary of ", bytes, " bytes");
    }
    written += static_cast<size_t>(part);
  }
  return file;
}

std::string symbol_at(const void* address, const char* otherwise) {
  Dl_info info = {};
  return dladdr(address, &info) != 0 && info.dli_saddr == address && info.dli_sname != nullptr ? info.dli_sname
                                                                                               : otherwise;
}

bool is_template(const opwright_device_function_t& function) {
  return std::string(function.expression).find('<') != std::string::npos;
}

}  // namespace

void DeviceFunction::launch(uint32_t blocks, aclrtStream stream, const void* const* arguments) const {
  binary->launch(*function, blocks, stream, arguments);
}

std::vector<const void*> DeviceFunction::split(const void* block, size_t bytes) const {
  std::vector<const void*> result;
  size_t offset = 0;
  for (uint32_t i = 0; i < function->count; ++i) {
    const size_t alignment = function->alignments[i];
    offset = (offset + alignment - 1) / alignment * alignment;
    require(offset + function->sizes[i] <= bytes, ACL_ERROR_RT_PARAM_INVALID, "kernel ", symbol, ": parameter ", i,
            " is at bytes ", offset, " to ", offset + function->sizes[i], ", and the arguments have ", bytes, " bytes");
    result.push_back(static_cast<const char*>(block) + offset);
    offset += function->sizes[i];
  }
  return result;
}

DeviceBinary::DeviceBinary(const void* data, size_t bytes) : file_(file_with(data, bytes)) {
  const std::string path = text("/proc/", getpid(), "/fd/", file_);
  library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* const why = library_ == nullptr ? dlerror() : nullptr;
  if (library_ != nullptr) {
    table_ = static_cast<const opwright_device_binary_t*>(dlsym(library_, OPWRIGHT_DEVICE_BINARY_SYMBOL));
  }
  if (table_ == nullptr || table_->size != sizeof(opwright_device_binary_t)) {
    if (library_ != nullptr) dlclose(library_);
    close(file_);
    fail(ACL_ERROR_RT_PARAM_INVALID, "no device binary for this CPU",
         why != nullptr ? text(" (", why, ")") : std::string(),
         ": machine code for an NPU cannot run here; compile the source with aclrtcCompileProg, or give the operator a "
         "reference kernel (opwright.twin.kernel)");
  }
  for (uint32_t i = 0; i < table_->count; ++i) {
    symbols_.push_back(symbol_at(table_->functions[i].address, table_->functions[i].name));
  }
  handles_.resize(table_->count);
}

DeviceBinary::~DeviceBinary() {
  table_->forget();
  dlclose(library_);
  close(file_);
}

void* DeviceBinary::function(const std::string& name) {
  std::string names;
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const opwright_device_function_t& found = table_->functions[i];
    if (symbols_[i] == name || (!is_template(found) && name == found.expression)) {
      if (handles_[i] == nullptr) {
        handles_[i] = device_functions().add(
            std::make_shared<DeviceFunction>(DeviceFunction{shared_from_this(), &found, symbols_[i]}));
      }
      return handles_[i];
    }
    names += (names.empty() ? "" : ", ") + symbols_[i];
  }
  fail(ACL_ERROR_RT_KERNEL_LOOKUP, "the device binary has no kernel ", name, "; it has ",
       names.empty() ? "none" : names);
}

void DeviceBinary::launch(const opwright_device_function_t& function, uint32_t blocks, aclrtStream stream,
                          const void* const* arguments) const {
  const aclError code = table_->launch(&function, blocks, stream, arguments);
  if (code != ACL_SUCCESS) throw Error(code, take_recent_message());
}

void DeviceBinary::unload() {
  for (void*& handle : handles_) {
    if (handle != nullptr) device_functions().remove(handle);
    handle = nullptr;
  }
}

std::vector<std::string> kernel_symbols(const void* data, size_t bytes) { return DeviceBinary(data, bytes).symbols(); }

Handles<DeviceBinary>& device_binaries() {
  static auto* const instance = new Handles<DeviceBinary>("device binary", ACL_ERROR_RT_INVALID_HANDLE);
  return *instance;
}

Handles<DeviceFunction>& device_functions() {
  static auto* const instance = new Handles<DeviceFunction>("kernel", ACL_ERROR_RT_INVALID_HANDLE);
  return *instance;
}

}  // namespace opwright
