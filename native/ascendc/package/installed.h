// native/ascendc/package/installed.h
// An operator package on disk: its host code and its compiled kernels.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "ascendc/package/definition.h"

namespace opwright::ascendc {

// A kernel's library, loaded.
struct KernelCode {
  std::string name;                       // of the kernel function
  void (*entry)(void* const* arguments);  // the kernel with its arguments
  int32_t (*kind)(uint64_t tiling_key);   // a KernelKind; -1: as the kernel declares it
  uint32_t arguments;                     // how many it takes
};

class InstalledOperator {
 public:
  InstalledOperator(Operator op, std::map<std::string, std::string> kernels)
      : op_(std::move(op)), files_(std::move(kernels)) {}
  ~InstalledOperator();
  InstalledOperator(const InstalledOperator&) = delete;
  InstalledOperator& operator=(const InstalledOperator&) = delete;

  const Operator& definition() const { return op_; }
  // Loads the kernel on first use. Throws 561003.
  const KernelCode& kernel(const Column& column);
  // The object that TilingParse made, once. Throws 561002.
  const void* compile_info();

 private:
  const Operator op_;
  const std::map<std::string, std::string> files_;  // by the column's name
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<KernelCode>> kernels_;
  void* compile_info_ = nullptr;
};

// The operator of the package whose library has `function`, for the chip of this process. Throws 161002, 561003.
InstalledOperator& installed_operator(const char* function, const char* type);

constexpr int kErrorInfer = 561001;
constexpr int kErrorTiling = 561002;

}  // namespace opwright::ascendc
