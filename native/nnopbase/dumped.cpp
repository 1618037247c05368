// native/nnopbase/dumped.cpp
#include "nnopbase/dumped.h"

#include <cstring>
#include <utility>
#include <vector>

#include "nnopbase/call_operands.h"
#include "nnopbase/validate.h"
#include "runtime/data_dump/dump.h"
#include "runtime/memory/extent.h"

namespace opwright {
namespace {

constexpr size_t kByte = 8;  // bits

// The elements of a view, one behind the other.
void gather(const aclTensor& tensor, size_t dim, const char* from, size_t element, std::vector<char>& bytes) {
  if (dim == tensor.sizes.size()) {
    bytes.insert(bytes.end(), from, from + element);
    return;
  }
  for (int64_t i = 0; i < tensor.sizes[dim]; ++i) {
    gather(tensor, dim + 1, from + i * tensor.strides[dim] * static_cast<int64_t>(element), element, bytes);
  }
}

// A tensor with a copy of its bytes.
struct Kept {
  data_dump::Tensor tensor;
  std::vector<char> bytes;
};

std::vector<int64_t> list_of(const Dims& dims) { return {dims.begin(), dims.end()}; }

// Tiled formats, and types of less than a byte, are kept as they lie in their storage.
Kept keep(const aclTensor& tensor) {
  const size_t element = bits_of(tensor.dtype) / kByte;
  const bool as_stored = !is_base_format(tensor.format) || element == 0;
  const Dims& sizes = as_stored ? tensor.storage_sizes : tensor.sizes;
  Kept kept{{tensor.dtype, tensor.format, list_of(sizes), list_of(tensor.sizes),
             reinterpret_cast<uint64_t>(tensor.data) + byte_of(tensor.offset, tensor.dtype), nullptr, 0},
            {}};
  if (tensor.numel() == 0) return kept;
  const auto* const storage = static_cast<const char*>(memory::reachable(tensor.data));
  if (as_stored) {
    kept.bytes.assign(storage, storage + tensor.storage_bytes());
  } else if (const char* const begin = storage + byte_of(tensor.offset, tensor.dtype);
             tensor.strides == contiguous_strides(tensor.sizes)) {
    kept.bytes.assign(begin, begin + bytes_of(tensor.numel(), tensor.dtype));
  } else {
    kept.bytes.reserve(bytes_of(tensor.numel(), tensor.dtype));
    gather(tensor, 0, begin, element, kept.bytes);
  }
  return kept;
}

std::vector<data_dump::Tensor> tensors_of(const std::vector<Kept>& kept) {
  std::vector<data_dump::Tensor> result;
  for (const Kept& each : kept) {
    result.push_back(each.tensor);
    result.back().data = each.bytes.data();
    result.back().bytes = each.bytes.size();
  }
  return result;
}

// The task around an executor. Inputs are copied before it runs, as it may write them.
class DumpedTask final : public Task {
 public:
  DumpedTask(TaskPtr task, aclOpExecutor& executor, std::shared_ptr<const data_dump::Config> config)
      : task_(std::move(task)), executor_(executor), config_(std::move(config)) {}

  void run() override {
    const data_dump::Target& target = config_->target;
    const std::vector<Kept> inputs = target.inputs ? keep_all(&DumpedTask::is_read) : std::vector<Kept>();
    task_->run();
    const std::vector<Kept> outputs = target.outputs ? keep_all(&DumpedTask::is_written) : std::vector<Kept>();
    data_dump::write_operator(target, executor_.name(), tensors_of(inputs), tensors_of(outputs));
  }
  const char* name() const noexcept override { return task_->name(); }
  std::string trace_args() const override { return task_->trace_args(); }
  std::vector<MemoryRange> memory_ranges() override { return task_->memory_ranges(); }
  const char* capture_obstacle() const noexcept override { return task_->capture_obstacle(); }
  void expect_replays() override { task_->expect_replays(); }

 private:
  // A tensor without elements is read or written where its parameter is one.
  bool is_read(const CallOperand& operand) const {
    return operand.range ? operand.range->read : operand.parameter < executor_.input_count();
  }
  bool is_written(const CallOperand& operand) const {
    return operand.range ? operand.range->written : operand.parameter >= executor_.input_count();
  }

  std::vector<Kept> keep_all(bool (DumpedTask::*is_wanted)(const CallOperand&) const) {
    std::vector<Kept> result;
    for (const CallOperand& operand : operands_of(executor_)) {
      if ((this->*is_wanted)(operand)) result.push_back(keep(*operand.tensor));
    }
    return result;
  }

  const TaskPtr task_;
  aclOpExecutor& executor_;  // owned by the task
  const std::shared_ptr<const data_dump::Config> config_;
};

}  // namespace

TaskPtr dumped(TaskPtr task, aclOpExecutor& executor) {
  if (!data_dump::dumps_operators.load(std::memory_order_relaxed)) return task;
  auto config = data_dump::single_operators();
  if (config == nullptr) return task;
  return std::make_unique<DumpedTask>(std::move(task), executor, std::move(config));
}

}  // namespace opwright
