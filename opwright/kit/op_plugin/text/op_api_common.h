// op_plugin/utils/op_api_common.h: what kernels of op-plugin use, for a library outside of torch_npu.
//
// torch_npu's header of this name takes 15 seconds to compile, and its macros need functions that
// libtorch_npu.so does not export. EXEC_NPU_CMD here does what its EXEC_NPU_CMD_EXT does.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <op_plugin/utils/Export.h>
#include <op_plugin/utils/KernelNpuOutputSize.h>
#include <op_plugin/utils/Version.h>
#include <op_plugin/utils/aclnn_call.h>
#include <torch_npu/csrc/framework/utils/OpPreparation.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#ifndef OP_PLUGIN_BUILD_ERR_CODE
#define OP_PLUGIN_BUILD_ERR_CODE
// The values are those of torch_npu's errors (torch_npu/utils/_error_code.py).
enum class ErrCode {
  SUC = 0,
  PARAM = 1,
  TYPE = 2,
  VALUE = 3,
  PTR = 4,
  INTERNAL = 5,
  MEMORY = 6,
  NOT_SUPPORT = 7,
  NOT_FOUND = 8,
  UNAVAIL = 9,
  SYSCALL = 10,
  TIMEOUT = 11,
  PERMISSION = 12,
  ACL = 100,
  HCCL = 200,
  GE = 300
};
#endif

namespace op_plugin_build {

template <typename Code>
std::string error_text(const char* module, int number, Code code) {
  std::string digits = std::to_string(static_cast<int>(code));
  digits.insert(0, digits.size() < 3 ? 3 - digits.size() : 0, '0');
  return "\n[ERROR] ERR0" + std::to_string(number) + digits + " " + module;
}

inline bool is_available(const char* function) {
  return GetOpApiFuncAddr(function) != nullptr &&
         GetOpApiFuncAddr((std::string(function) + "GetWorkspaceSize").c_str()) != nullptr;
}

// A parameter's value as a call keeps it: the queue may read it after the kernel has returned.
inline std::optional<std::string> kept(const char* text) {
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}
inline std::optional<std::string> kept(char* text) { return kept(static_cast<const char*>(text)); }
inline std::vector<bool> kept(const at::ArrayRef<bool>& values) { return {values.begin(), values.end()}; }
template <size_t N>
std::vector<bool> kept(const std::array<bool, N>& values) {
  return {values.begin(), values.end()};
}
template <typename Value>
const Value& kept(const Value& value) {
  return value;
}

// The function must be static, as the queue may run it later.
template <typename... Parameters>
void execute(const aclnn::Function& function, const Parameters&... parameters) {
  aclnn::call(function, kept(parameters)...);
}

}  // namespace op_plugin_build

inline bool check_aclnn_kernel_available(const std::string& name) {
  return op_plugin_build::is_available(name.c_str());
}

#undef OPS_ERROR
#undef PTA_ERROR
#define OPS_ERROR(error) ::op_plugin_build::error_text("OPS", 1, error)
#define PTA_ERROR(error) ::op_plugin_build::error_text("PTA", 0, error)

#define EXEC_NPU_CMD(aclnn_api, ...)                                             \
  do {                                                                           \
    static const ::op_plugin_build::aclnn::Function aclnn_function_(#aclnn_api); \
    ::op_plugin_build::execute(aclnn_function_, __VA_ARGS__);                    \
  } while (false)
#define EXEC_NPU_CMD_EXT EXEC_NPU_CMD
#define EXEC_NPU_NO_FORMAT_CHECK_CMD EXEC_NPU_CMD

// Returns the other call where CANN, and the custom operators beside it, lack the aclnn function.
#define DO_COMPATIBILITY(aclnn_api, originCallExpression)                             \
  do {                                                                                \
    static const bool aclnn_available_ = ::op_plugin_build::is_available(#aclnn_api); \
    if (!aclnn_available_) {                                                          \
      return originCallExpression;                                                    \
    }                                                                                 \
  } while (false)
#define DO_COMPATIBILITY_COMMON DO_COMPATIBILITY
