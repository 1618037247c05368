// native/live/call/function.h
// The aclnn function of a plan: in a library, or on the twin a reference function in Python.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "live/call/values.h"
#include "live/npu/npu.h"
#include "live/plan/plan.h"

namespace opwright::live {

class Function {
 public:
  Function() = default;
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;
  virtual ~Function() = default;
  // Returns the status of phase 1.
  virtual int phase1(const Plan& plan, const Values& values, uint64_t* workspace_size,
                     aclOpExecutor** executor) const = 0;
  virtual npu::Phase2 phase2() const = 0;
};

// Raises if there is no such function, or if the reference function takes other parameters than the plan passes.
std::unique_ptr<const Function> find_function(const Plan& plan);

bool has_function(const std::string& name);

}  // namespace opwright::live
