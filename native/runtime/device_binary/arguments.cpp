// native/runtime/device_binary/arguments.cpp
#include "runtime/device_binary/arguments.h"

#include <algorithm>
#include <cstring>

namespace opwright {

void* KernelArguments::append(const void* value, size_t bytes) {
  const opwright_device_function_t& kernel = *function_->function;
  const size_t index = values_.size();
  require(!final_, ACL_ERROR_RT_PARAM_INVALID, "the arguments of ", function_->symbol,
          " are final; aclrtKernelArgsInit begins new ones");
  require(index < kernel.count, ACL_ERROR_RT_PARAM_INVALID, "kernel ", function_->symbol, " has ", kernel.count,
          " parameters, and this is argument ", index + 1);
  require(bytes == kernel.sizes[index], ACL_ERROR_RT_PARAM_INVALID, "parameter ", index, " of kernel ",
          function_->symbol, " has ", kernel.sizes[index], " bytes, and the argument has ", bytes);
  const auto* const begin = static_cast<const unsigned char*>(value);
  values_.push_back(std::make_unique<Value>(begin, begin + bytes));
  return values_.back().get();
}

void KernelArguments::update(const void* handle, const void* value, size_t bytes) {
  const auto found =
      std::find_if(values_.begin(), values_.end(), [&](const auto& each) { return each.get() == handle; });
  require(found != values_.end(), ACL_ERROR_RT_INVALID_HANDLE, handle, " is no argument of kernel ", function_->symbol);
  require(bytes == (*found)->size(), ACL_ERROR_RT_PARAM_INVALID, "the argument has ", (*found)->size(),
          " bytes, and its new value has ", bytes);
  std::memcpy((*found)->data(), value, bytes);
}

void KernelArguments::finalize() { final_ = true; }

std::vector<const void*> KernelArguments::for_launch_of(const DeviceFunction& function) const {
  require(function.function == function_->function, ACL_ERROR_RT_PARAM_INVALID, "the arguments are those of kernel ",
          function_->symbol, ", not of ", function.symbol);
  require(final_, ACL_ERROR_RT_PARAM_INVALID, "the arguments of ", function.symbol,
          " are not final; call aclrtKernelArgsFinalize");
  require(values_.size() == function.function->count, ACL_ERROR_RT_PARAM_INVALID, "kernel ", function.symbol, " has ",
          function.function->count, " parameters, and there are ", values_.size(), " arguments");
  std::vector<const void*> result;
  for (const auto& value : values_) result.push_back(value->data());
  return result;
}

Handles<KernelArguments>& kernel_arguments() {
  static auto* const instance = new Handles<KernelArguments>("kernel arguments", ACL_ERROR_RT_INVALID_HANDLE);
  return *instance;
}

}  // namespace opwright
