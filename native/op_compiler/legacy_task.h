// native/op_compiler/legacy_task.h
// A call of a legacy operator on its stream.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "acl/acl_desc.h"
#include "acl/acl_op.h"
#include "op_compiler/legacy_engine.h"
#include "runtime/data_dump/file.h"
#include "runtime/streams/task.h"

namespace opwright::legacy {

// Shapes that the operator answers where its outputs depend on values; written before the stream has been waited for.
using Shapes = std::vector<std::vector<int64_t>>;

class OperatorTask final : public Task {
 public:
  // The task takes what it needs of descriptors and host memory: callers free both as soon as the call returns.
  OperatorTask(std::string type, std::string description, ProgramPtr program);

  void add(const aclTensorDesc* desc, const aclDataBuffer* buffer, bool is_output, int index);
  // Called behind the last operand: the memory that the operator touches must be alive.
  void check();
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
    std::string what;  // for errors
    aclDataType type = ACL_DT_UNDEFINED;
    bool is_output = false;
    bool is_named = false;
    const void* address = nullptr;  // of device memory
    size_t touched = 0;             // bytes from there
    aclFormat format = ACL_FORMAT_ND;
    std::vector<int64_t> sizes;           // in memory
    std::vector<int64_t> original_sizes;  // as described
    std::vector<uint8_t> copy;            // of host memory
  };
  // An input of which only a view is touched, given by the three inputs behind it: sizes, strides, offset.
  struct View {
    const char* type;
    size_t input;
    bool is_output;  // it is written: the first output is the same memory
  };
  static const View kViews[];

  void compute();
  // The inputs or outputs for a dump; `bytes` gets copies of what they hold.
  std::vector<data_dump::Tensor> dump(bool outputs, std::vector<std::vector<char>>& bytes) const;
  std::vector<int64_t> integers(size_t input) const;
  void narrow(const View& view);

  const std::string type_;
  const std::string description_;
  const ProgramPtr program_;
  const int threads_;  // of the thread that made the call
  std::vector<Operand> operands_;
  std::shared_ptr<Shapes> shapes_;
};

}  // namespace opwright::legacy
