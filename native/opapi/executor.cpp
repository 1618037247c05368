// native/opapi/executor.cpp
// The executor of every aclnn function: what its kinds keep of the arguments, and what they open while it runs, lies
// behind the object in one allocation.
#include "nnopbase/executor.h"

#include <c10/util/Exception.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "collective/rank_group.h"
#include "opapi/aten_error.h"
#include "opapi/declare.h"
#include "opapi/documented_operands.h"
#include "runtime/streams/consumer_thread.h"

namespace opwright::opapi {

namespace {

// The task of an operator that phase 2 refuses: the other ranks wait for it.
std::function<TaskPtr(const std::string&)> substitute_of(const Function& function, const std::string& group) {
  return [name = function.name, group](const std::string& reason) {
    return make_bookkeeping(name, [=] { collective::give_up(group, name, reason); });
  };
}

class alignas(kAlignment) Executor final : public aclOpExecutor {
 public:
  static void* operator new(size_t size, const Function& function) { return ::operator new(size + function.bytes); }
  static void operator delete(void* memory) { ::operator delete(memory); }
  static void operator delete(void* memory, const Function&) { ::operator delete(memory); }

  Executor(const Function& function, const void* const* arguments) : Executor(function) {
    for (const Parameter& parameter : function_) {
      parameter.kind->keep(arguments[kept_], parameter.name, memory() + parameter.stored);
      ++kept_;
    }
    threads_ = caller_threads();
    if (function_.group != nullptr) make_substitute = substitute_of(function_, group());
  }

  Executor(const Executor& other) : Executor(other.function_) {
    for (const Parameter& parameter : function_) {
      parameter.kind->copy(other.memory() + parameter.stored, memory() + parameter.stored);
      ++kept_;
    }
    threads_ = other.threads_;
    make_substitute = other.make_substitute;
  }

  Executor& operator=(const Executor&) = delete;

  ~Executor() override {
    end_values();
    for (size_t i = 0; i < kept_; ++i) {
      const Parameter& parameter = function_.parameters[i];
      if (parameter.kind->drop != nullptr) parameter.kind->drop(memory() + parameter.stored);
    }
  }

  void run() override {
    if (function_.group != nullptr) return run_among_ranks();
    run_alone();
  }

  // For phase 1: throws what the body refuses without looking at an element.
  void examine() {
    if (!function_.has_dry_run || !function_.has_tensors) return;
    const Signature call = sign(Signature::Detail::kShapes);
    if (is_accepted(call)) return;
    if (!on_consumer_thread()) require_documented(function_.name, [this] { return list_parameters(); });
    try {
      if (!dry_run(attempt_of, this, threads_)) return;
      if (function_.is_simple) require_kernels_once();
    } catch (const AtenError& error) {
      refuse_operands(error.text());
    }
    accept(call);
  }

  // Once phase 1 has accepted the call.
  void commit() const {
    for (const Parameter& parameter : function_) {
      if (parameter.commits) parameter.kind->commit(memory() + parameter.stored);
    }
  }

  const char* name() const noexcept override { return function_.name; }

  std::string trace_args() const override {
    std::string result;
    for (const Parameter& parameter : function_) {
      trace::append_member(result, parameter.name, trace::quote(parameter.kind->describe(memory() + parameter.stored)));
    }
    return result;
  }

  std::vector<MemoryRange> memory_ranges() override {
    std::vector<MemoryRange> result;
    for (const Parameter& parameter : function_) {
      std::vector<std::vector<aclTensor*>> tensors;
      add_tensors(parameter, tensors);
      for (const auto& list : tensors) {
        for (const aclTensor* tensor : list) add_range(tensor, parameter.name, parameter.access, result);
      }
    }
    return result;
  }

  const char* capture_obstacle() const noexcept override {
    return function_.is_dynamic
               ? "the shape of its result depends on values, so it has to run before the host can go on"
               : nullptr;
  }

  void expect_replays() override { replayed_ = true; }

  std::unique_ptr<aclOpExecutor> clone() const override {
    return std::unique_ptr<aclOpExecutor>(new (function_) Executor(*this));
  }

  std::vector<std::vector<aclTensor*>> tensors() override {
    std::vector<std::vector<aclTensor*>> result;
    for (const Parameter& parameter : function_) add_tensors(parameter, result);
    return result;
  }

  size_t input_count() const override { return function_.inputs; }

 private:
  // Larger integers may be sizes, with which a body could compute for long on empty tensors too; axes are smaller.
  static constexpr int64_t kLargestAxis = 8;

  // A constructor that goes on after this one may throw: the destructor then drops what was kept before.
  explicit Executor(const Function& function) : function_(function) {}

  std::byte* memory() noexcept { return reinterpret_cast<std::byte*>(this) + sizeof(Executor); }
  const std::byte* memory() const noexcept { return reinterpret_cast<const std::byte*>(this) + sizeof(Executor); }

  const std::string& group() const {
    return *std::launder(reinterpret_cast<const std::string*>(memory() + function_.group->stored));
  }

  void run_alone() {
    const RunScope scope(threads_);
    run_attempts(attempt_of, this, Operands::kMemory);
  }

  // An error breaks the communicator, wherever it comes from: no rank waits for this one.
  void run_among_ranks() {
    const collective::OperatorScope named(function_.name);
    try {
      run_alone();
    } catch (const std::exception& error) {
      collective::give_up(group(), function_.name, error.what());
      throw;
    }
  }

  static void attempt_of(void* self, const Opening& opening) { static_cast<Executor*>(self)->attempt(opening); }

  Signature sign(Signature::Detail detail) const {
    Signature result(function_.name, detail);
    for (const Parameter& parameter : function_) {
      if (parameter.is_signed) parameter.kind->sign(memory() + parameter.stored, result);
    }
    return result;
  }

  // Also a dtype that ATen has no kernel for is the caller's. Who calls through torch_npu knows the operands from
  // Python.
  [[noreturn]] void refuse_operands(const std::string& reason) {
    fail(ACLNN_ERR_PARAM_INVALID, reason, is_beneath_torch_npu() ? std::string() : describe_operands());
  }

  std::string describe_operands() {
    std::string result;
    const std::vector<Tensors> parameters = list_parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      for (const aclTensor* const tensor : parameters[i]) {
        if (tensor == nullptr) continue;
        result += text(result.empty() ? "; operands: " : ", ", function_.parameters[i].name, " ",
                       dtype_name(tensor->dtype), " ", to_string(tensor->sizes));
      }
    }
    return result;
  }

  void require_kernels_once() {
    const Signature dtypes = sign(Signature::Detail::kDtypes);
    if (dtypes.largest_integer() > kLargestAxis || is_accepted(dtypes)) return;
    require_kernels(attempt_of, this, threads_);
    accept(dtypes);
  }

  std::vector<Tensors> list_parameters() {
    std::vector<Tensors> result;
    for (const Parameter& parameter : function_) {
      std::vector<std::vector<aclTensor*>> lists;
      add_tensors(parameter, lists);
      result.emplace_back();
      if (!lists.empty()) result.back().assign(lists[0].begin(), lists[0].end());
    }
    return result;
  }

  void add_tensors(const Parameter& parameter, std::vector<std::vector<aclTensor*>>& tensors) {
    if (parameter.kind->each_tensor != nullptr) parameter.kind->each_tensor(memory() + parameter.stored, tensors);
  }

  void attempt(const Opening& opening) {
    try {
      if (ready_) {
        // Nothing to close: the run before left the outputs as they were, so this one does.
        function_.run(memory());
        return;
      }
      open(opening);
      compute(opening);
      // A replay comes with the same tensors: opening them costs more than a small operator.
      ready_ = replayed_ && opening.operands == Operands::kMemory && is_steady();
    } catch (...) {
      end_values();  // a run that throws may have left them in any state
      throw;
    }
    if (!ready_) end_values();
  }

  void open(const Opening& opening) {
    for (const Parameter& parameter : function_) {
      if (parameter.kind->open != nullptr) {
        parameter.kind->open(memory() + parameter.stored, parameter.name, opening, memory() + parameter.value);
      }
      ++opened_;
    }
  }

  void compute(const Opening& opening) {
    try {
      function_.run(memory());
    } catch (const c10::Error& error) {
      // ATen gives an output the shape that it should have before it finds that it cannot have the memory.
      if (is_fault_of_shapes(error, opening.operands)) check_shapes();
      throw;
    }
    if (opening.operands == Operands::kNoMemory) check_shapes();
    if (opening.operands == Operands::kMemory) close();
  }

  void check_shapes() const {
    for (const Parameter& parameter : function_) {
      if (parameter.kind->check_shape == nullptr) continue;
      parameter.kind->check_shape(memory() + parameter.value, memory() + parameter.stored, parameter.name);
    }
  }

  void close() const {
    for (const Parameter& parameter : function_) {
      if (parameter.kind->close == nullptr) continue;
      parameter.kind->close(memory() + parameter.value, memory() + parameter.stored, parameter.name);
    }
  }

  bool is_steady() const {
    for (const Parameter& parameter : function_) {
      if (parameter.kind->is_steady == nullptr) continue;
      if (!parameter.kind->is_steady(memory() + parameter.value, memory() + parameter.stored)) return false;
    }
    return true;
  }

  void end_values() noexcept {
    for (size_t i = 0; i < opened_; ++i) {
      const Parameter& parameter = function_.parameters[i];
      if (parameter.kind->end != nullptr) parameter.kind->end(memory() + parameter.value);
    }
    opened_ = 0;
    ready_ = false;
  }

  const Function& function_;
  int threads_ = 0;
  bool replayed_ = false;
  bool ready_ = false;   // the values are those that the run before opened
  uint32_t kept_ = 0;    // parameters of which something is kept
  uint32_t opened_ = 0;  // parameters whose values exist
};

// A failed phase 1 leaves an executor that knows the error, but not the operator's ranks.
void name_ranks(const Function& function, const void* const* arguments, aclOpExecutor* executor) {
  if (executor == nullptr || executor->failure() == nullptr) return;
  const auto position = static_cast<size_t>(function.group - function.parameters);
  const auto* const name = *static_cast<const char* const*>(arguments[position]);
  executor->make_substitute = substitute_of(function, kind::Group::keep(name, function.group->name));
}

}  // namespace

aclnnStatus prepare(const Function& function, const char* phase1, uint64_t* workspace_size, aclOpExecutor** executor,
                    const void* const* arguments) noexcept {
  Executor* accepted = nullptr;
  const aclnnStatus status = ::opwright::prepare(phase1, function.name, workspace_size, executor, [&] {
    begin_operands();
    std::unique_ptr<Executor> made(new (function) Executor(function, arguments));
    made->examine();
    accepted = made.get();
    return made;
  });
  if (executor == nullptr) return status;
  if (function.commits && accepted != nullptr && *executor == accepted) accepted->commit();
  if (function.group != nullptr) name_ranks(function, arguments, *executor);
  return status;
}

}  // namespace opwright::opapi
