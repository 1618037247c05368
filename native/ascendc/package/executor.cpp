// native/ascendc/package/executor.cpp
// The executor that phase 1 of an operator package's function makes, and how it runs the kernel.
#include "nnopbase/executor.h"

#include <cstdlib>
#include <cstring>
#include <numeric>

#include "ascendc/package/call.h"
#include "ascendc/package/installed.h"
#include "ascendc/package/match.h"
#include "ascendc/package/operands.h"
#include "ascendc/package/tiling.h"
#include "ascendc/runtime/ascendc_launch.h"
#include "ascendc/shared/half.h"
#include "nnopbase/operand.h"
#include "nnopbase/validate.h"
#include "runtime/memory/memory.h"

namespace opwright::ascendc {
namespace {

// The decisions of tiling; the same for all clones of an executor.
struct Plan {
  const KernelCode* kernel;
  size_t entry;  // of the lists in the definition
  uint64_t key;
  uint32_t blocks;
  uint64_t workspace;
  std::vector<uint64_t> tiling;  // bytes, in words
  bool clear_outputs;
  bool nothing_to_do;
};

// The memory in which a kernel finds one run's operands.
class Memory {
 public:
  // The address that the kernel gets for a port. `placed(operand, address)` is called with the place of each tensor.
  template <class Placed>
  const void* address_of(const PortOperands& port, bool ignore_contiguous, const Placed& placed) {
    if (port.instances.empty() && !port.is_list) return nullptr;
    std::vector<const void*> each;
    for (const Operand& operand : port.instances) {
      each.push_back(place(operand, port, ignore_contiguous));
      placed(operand, each.back());
    }
    return port.is_list ? list(port, each) : each.front();
  }
  uint8_t* fresh(uint64_t bytes) {
    buffers_.emplace_back(bytes / sizeof(uint64_t) + 1);
    uint8_t* const begin = reinterpret_cast<uint8_t*>(buffers_.back().data());
    note(begin, bytes);
    return begin;
  }
  // One run's copy of shared data: the kernel may write it.
  const void* copy(const std::vector<uint64_t>& words) {
    uint8_t* const begin = fresh(words.size() * sizeof(uint64_t));
    std::memcpy(begin, words.data(), words.size() * sizeof(uint64_t));
    return begin;
  }
  void note(const void* begin, uint64_t bytes) {
    begins_.push_back(begin);
    bytes_.push_back(bytes);
  }
  // Writes what the kernel has put into copies to the tensors that are not contiguous.
  void write_back() {
    for (const Copy& copy : copies_) {
      if (copy.written) copy_view(*copy.tensor, copy.storage, copy.dense, false);
    }
  }

  const std::vector<const void*>& begins() const { return begins_; }
  const std::vector<uint64_t>& bytes() const { return bytes_; }

 private:
  struct Copy {
    const aclTensor* tensor;
    uint8_t* storage;
    uint8_t* dense;
    bool written;
  };

  const void* place(const Operand& operand, const PortOperands& port, bool ignore_contiguous) {
    if (operand.is_value()) {
      note(operand.bytes.data(), operand.bytes.size() * sizeof(uint64_t));
      return operand.bytes.data();
    }
    const aclTensor& tensor = *operand.tensor;
    auto* const storage = static_cast<uint8_t*>(storage_of(tensor));
    if (storage == nullptr || tensor.numel() == 0) return storage;
    if (!is_base_format(tensor.format) || (ignore_contiguous && !is_contiguous(tensor))) {
      note_tensor(tensor, storage, storage, tensor.storage_bytes());
      return storage + byte_of(tensor.offset, tensor.dtype);
    }
    if (is_contiguous(tensor)) {
      uint8_t* const first = storage + byte_of(tensor.offset, tensor.dtype);
      note_tensor(tensor, storage, first, bytes_of(tensor.numel(), tensor.dtype));
      return first;
    }
    for (const Copy& copy : copies_) {  // an input that is an output as well
      if (copy.tensor->data == tensor.data && copy.tensor->offset == tensor.offset) return copy.dense;
    }
    uint8_t* const dense = fresh(bytes_of(tensor.numel(), tensor.dtype));
    copy_view(tensor, storage, dense, true);
    copies_.push_back({&tensor, storage, dense, port.written});
    return dense;
  }

  // A kernel may read a block of 32 bytes that ends behind its tensor, as long as it stays in the allocation: hardware
  // lets it. Kernel checks do not. Of memory that is not the device's, only the launch can know the extent.
  void note_tensor(const aclTensor& tensor, const uint8_t* storage, const uint8_t* begin, uint64_t bytes) {
    const bool on_device = memory::is_device_address(tensor.data) && storage == memory::alias_of(tensor.data);
    if (!on_device || opwright_ascendc_checked() != 0) note(begin, bytes);
  }

  // A list as ListTensorDesc of kernels reads it: where the addresses begin (bytes), then for each tensor its number of
  // dimensions and index (32 bits each) and its sizes, then the addresses.
  const void* list(const PortOperands& port, const std::vector<const void*>& addresses) {
    std::vector<uint64_t> words = {0};
    for (size_t i = 0; i < port.instances.size(); ++i) {
      const gert::Shape& shape = port.instances[i].shape;
      words.push_back(static_cast<uint64_t>(shape.GetDimNum()) | static_cast<uint64_t>(i) << 32);
      for (size_t d = 0; d < shape.GetDimNum(); ++d) words.push_back(static_cast<uint64_t>(shape.GetDim(d)));
    }
    words[0] = words.size() * sizeof(uint64_t);
    for (const void* address : addresses) words.push_back(reinterpret_cast<uint64_t>(address));
    return copy(words);
  }

  std::vector<std::vector<uint64_t>> buffers_;
  std::vector<const void*> begins_;
  std::vector<uint64_t> bytes_;
  std::vector<Copy> copies_;
};

template <class T>
void fill(uint8_t* begin, uint64_t bytes, T value) {
  for (uint64_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) std::memcpy(begin + at, &value, sizeof(T));
}

// InitValue of an output; `entry` of its lists.
void initialize(const ops::PortData& port, uint8_t* begin, uint64_t bytes, size_t entry) {
  if (port.clear) std::memset(begin, 0, bytes);
  if (port.initial.empty()) return;
  const ops::ScalarVar& value = port.initial.size() == 1 ? port.initial[0] : port.initial.at(entry);
  switch (value.scalar_type) {
    case ops::ScalarType::FLOAT32:
      return fill(begin, bytes, value.scalar_num.value_f32);
    case ops::ScalarType::FLOAT16:
      return fill(begin, bytes, static_cast<half>(value.scalar_num.value_f32));
    case ops::ScalarType::INT64:
    case ops::ScalarType::UINT64:
      return fill(begin, bytes, value.scalar_num.value_u64);
    case ops::ScalarType::INT32:
    case ops::ScalarType::UINT32:
      return fill(begin, bytes, static_cast<uint32_t>(value.scalar_num.value_u64));
    case ops::ScalarType::INT16:
    case ops::ScalarType::UINT16:
      return fill(begin, bytes, static_cast<uint16_t>(value.scalar_num.value_u64));
    default:
      return fill(begin, bytes, static_cast<uint8_t>(value.scalar_num.value_u64));
  }
}

class Executor final : public aclOpExecutor {
 public:
  Executor(const char* function, const Operator& op, Operands operands, std::shared_ptr<const Plan> plan)
      : function_(function), op_(op), operands_(std::move(operands)), plan_(std::move(plan)) {
    workspace_size = plan_->workspace;
  }

  void run() override {
    if (plan_->nothing_to_do) return;
    Memory memory;
    std::vector<const void*> arguments;
    for (size_t i = 0; i < operands_.port_count(); ++i) {
      const bool clears = plan_->clear_outputs && i >= operands_.inputs.size();
      const auto placed = [&](const Operand& operand, const void* address) {
        if (clears && address != nullptr) clear(i, *operand.tensor, const_cast<void*>(address));
      };
      arguments.push_back(memory.address_of(operands_.port(i), op_.port(i).ignore_contiguous, placed));
    }
    arguments.push_back(workspace_for(memory));
    arguments.push_back(memory.copy(plan_->tiling));
    launch(arguments, memory);
    memory.write_back();
  }

  const char* name() const noexcept override { return function_; }
  std::string trace_args() const override {
    std::string result;
    for (size_t i = 0; i < operands_.port_count(); ++i) {
      std::string words;
      for (const Operand& operand : operands_.port(i).instances) {
        words += (words.empty() ? "" : ", ") +
                 (operand.tensor ? summary(*operand.tensor) : text(operand.count(), " values"));
      }
      result += trace::quote(op_.port(i).name) + ":" + trace::quote(words) + ",";
    }
    // A reference function in its place has no such word.
    result += "\"kernel\":" + trace::quote(plan_->nothing_to_do ? "" : plan_->kernel->name) + ",";
    return result + "\"blocks\":" + std::to_string(plan_->blocks) + ",\"tilingKey\":" + std::to_string(plan_->key);
  }
  std::unique_ptr<aclOpExecutor> clone() const override {
    auto result = std::make_unique<Executor>(function_, op_, operands_, plan_);
    result->workspace_ = workspace_;
    result->device = device;
    return result;
  }
  std::vector<std::vector<aclTensor*>> tensors() override {
    std::vector<std::vector<aclTensor*>> result;
    for (size_t i = 0; i < operands_.port_count(); ++i) {
      result.emplace_back();
      for (Operand& operand : operands_.port(i).instances) {
        result.back().push_back(operand.tensor ? &*operand.tensor : nullptr);
      }
    }
    return result;
  }
  size_t input_count() const override { return operands_.inputs.size(); }
  std::vector<MemoryRange> memory_ranges() override {
    std::vector<MemoryRange> result;
    for (size_t i = 0; i < operands_.port_count(); ++i) {
      const PortOperands& port = operands_.port(i);
      for (const Operand& operand : port.instances) {
        if (operand.tensor) add_range(&*operand.tensor, port.name, {port.read, port.written}, result);
      }
    }
    return result;
  }

  void set_workspace(void* address) { workspace_ = address; }

 private:
  void clear(size_t port, const aclTensor& tensor, void* address) const {
    initialize(op_.port(port), static_cast<uint8_t*>(address), bytes_of(tensor.numel(), tensor.dtype), plan_->entry);
  }

  // Graphs give none: a kernel there has its own.
  const void* workspace_for(Memory& memory) const {
    if (plan_->workspace == 0) return nullptr;
    if (workspace_ == nullptr) return memory.fresh(plan_->workspace);
    const void* const begin = memory::checked_alias(workspace_, plan_->workspace, "workspace", ACLNN_ERR_PARAM_INVALID);
    memory.note(begin, plan_->workspace);
    return begin;
  }

  void launch(const std::vector<const void*>& arguments, const Memory& memory) const {
    const KernelCode& kernel = *plan_->kernel;
    require(arguments.size() == kernel.arguments, ACLNN_ERR_INNER, "the kernel ", kernel.name, " takes ",
            kernel.arguments, " parameters, but the definition of ", op_.type, " makes ", arguments.size(),
            ": its inputs, its outputs, the workspace and the tiling data");
    std::vector<const void*> places;
    for (const auto& argument : arguments) places.push_back(&argument);
    const std::vector<uint32_t> sizes(arguments.size(), sizeof(void*));
    const opwright_ascendc_launch_t launch = {
        sizeof launch,
        0,  // the package's is compared when it is loaded
        kernel.name.c_str(),
        kernel.entry,
        plan_->blocks,
        kernel.kind(plan_->key),
        plan_->key,
        static_cast<uint32_t>(places.size()),
        places.data(),
        sizes.data(),
        static_cast<uint32_t>(memory.begins().size()),
        memory.begins().data(),
        memory.bytes().data(),
    };
    const aclError status = opwright_ascendc_run(&launch);
    if (status != ACL_SUCCESS) fail(status, opwright_ascendc_error());
  }

  const char* const function_;
  const Operator& op_;
  Operands operands_;
  const std::shared_ptr<const Plan> plan_;
  void* workspace_ = nullptr;
};

// In graphs, whose tensors lie in host memory.
bool in_graph() {
  const bool allowed = memory::allow_host_operands(true);
  memory::allow_host_operands(allowed);
  return allowed;
}

bool all_outputs_empty(const Operands& operands) {
  bool any = false;
  for (const PortOperands& port : operands.outputs) {
    for (const Operand& operand : port.instances) {
      any = true;
      if (operand.shape.GetShapeSize() != 0) return false;
    }
  }
  return any;
}

std::shared_ptr<Plan> plan_of(InstalledOperator& installed, const Column& column, const Operands& operands,
                              std::initializer_list<Bound> arguments) {
  const Operator& op = installed.definition();
  auto plan = std::make_shared<Plan>();
  plan->nothing_to_do = !op.launch_empty && all_outputs_empty(operands);
  if (plan->nothing_to_do) return plan;
  Node node(op.type.c_str(), op.type.c_str());
  fill_node(op, operands, arguments, node);
  run_tiling(installed, node);
  plan->kernel = &installed.kernel(column);
  plan->entry = column.entry;
  plan->key = node.tiling.key;
  plan->blocks = node.tiling.blocks;
  const auto& sizes = node.tiling.workspaces;
  plan->workspace = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
  plan->clear_outputs = node.tiling.clear_outputs;
  const gert::TilingData& tiling = node.tiling.data;
  plan->tiling.resize((tiling.GetDataSize() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  std::memcpy(plan->tiling.data(), tiling.GetData(), tiling.GetDataSize());
  return plan;
}

}  // namespace

aclnnStatus prepare(const char* function, const char* type, std::initializer_list<Bound> arguments,
                    uint64_t* workspace_size, aclOpExecutor** executor) noexcept {
  const std::string phase = std::string(function) + "GetWorkspaceSize";
  return opwright::prepare(phase.c_str(), function, workspace_size, executor, [&] {
    InstalledOperator& installed = installed_operator(function, type);
    const Operator& op = installed.definition();
    Operands operands = operands_of(op, arguments);
    const Column& column = match(op, operands);
    if (in_graph()) check_inference(op, operands, arguments);
    auto plan = plan_of(installed, column, operands, arguments);
    return std::make_unique<Executor>(function, op, std::move(operands), std::move(plan));
  });
}

aclnnStatus execute(const char* function, void* workspace, uint64_t workspace_size, aclOpExecutor* executor,
                    aclrtStream stream) noexcept {
  if (auto* const ours = dynamic_cast<Executor*>(executor)) ours->set_workspace(workspace);
  return opwright::execute(function, workspace, workspace_size, executor, stream);
}

}  // namespace opwright::ascendc
