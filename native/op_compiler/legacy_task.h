// native/op_compiler/legacy_task.h
// A call of a legacy operator on its stream.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "acl/acl_desc.h"
#include "acl/acl_op.h"
#include "runtime/task.h"

namespace opwright::legacy {

// Shapes that the operator answers where its outputs depend on values; written before the stream has been waited for.
using Shapes = std::vector<std::vector<int64_t>>;

class OperatorTask final : public Task {
 public:
  // The task takes what it needs of descriptors and host memory: callers free both as soon as the call returns.
  OperatorTask(std::string type, std::string description, uint64_t program);

  void add(const aclTensorDesc* desc, const aclDataBuffer* buffer, bool is_output, int index);
  // Outputs may turn out smaller than described; their shapes go there.
  void reshape(std::shared_ptr<Shapes> shapes) { shapes_ = std::move(shapes); }

  void run() override;
  const char* name() const noexcept override { return type_.c_str(); }
  std::string trace_args() const override { return "\"aclop\":" + description_; }
  std::vector<MemoryRange> memory_ranges() override;
  const char* capture_obstacle() const noexcept override {
    return "a legacy operator (aclop) cannot be part of a captured graph; use a function that torch_npu maps to aclnn";
  }

 private:
  struct Operand {
    const void* address = nullptr;  // of device memory
    size_t bytes = 0;
    std::vector<uint8_t> copy;  // of host memory
    bool is_output = false;
  };

  const std::string type_;
  const std::string description_;
  const uint64_t program_;
  const int threads_;  // of the thread that made the call
  std::vector<Operand> operands_;
  std::shared_ptr<Shapes> shapes_;
};

}  // namespace opwright::legacy
