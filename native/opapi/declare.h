// native/opapi/declare.h
// ACLNN declares and defines one aclnn function in one line of a table:
//
//   ACLNN(Add, (In, self)(In, other)(Scalar, alpha)(Out, out), at::add_out(out, self, other, alpha))
//
// It exports aclnnAddGetWorkspaceSize and aclnnAdd. Both phases, argument checks, copies, workspace, repeatable
// executors, tracing and error reports come from here and from the parameter kinds; the line names the parameters
// (their kinds are in kinds.h, their order and C types are the ABI) and calls ATen.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>

#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "nnopbase/executor.h"
#include "nnopbase/validate.h"
#include "opapi/dry_run.h"
#include "opapi/kinds.h"
#include "opapi/sequence.h"
#include "runtime/call.h"

namespace opwright::opapi {

template <class... Kinds>
struct KindList {
  using Stored = std::tuple<typename Kinds::Stored...>;
  using Values = std::tuple<typename Kinds::Value...>;
  static constexpr size_t kCount = sizeof...(Kinds);
  template <size_t I>
  using At = std::tuple_element_t<I, std::tuple<Kinds...>>;
};

// The thread's state while an operator runs: no autograd, the caller's number of threads.
class OPWRIGHT_API RunScope {
 public:
  explicit RunScope(int threads);

 private:
  at::AutoDispatchBelowADInplaceOrView below_autograd_;
  c10::NoGradGuard no_grad_;
};

// Phase 1 calls the first before it takes its operands and the second when it has them.
OPWRIGHT_API void begin_operands() noexcept;
OPWRIGHT_API int caller_threads() noexcept;

// Runs `attempt(opening)`; if ATen has no kernel for a half-precision dtype, runs it again in float32. Turns ATen's
// exceptions into Error, except for the request for memory that ends a dry run.
OPWRIGHT_API void run_attempts(Attempt attempt, void* self, Operands operands);

constexpr bool are_equal(const char* a, const char* b) { return std::string_view(a) == b; }

template <class Op>
class Executor final : public aclOpExecutor {
 public:
  using Kinds = typename Op::Kinds;
  using Stored = typename Kinds::Stored;
  using Values = typename Kinds::Values;
  using Indices = std::make_index_sequence<Kinds::kCount>;

  Executor(int threads, Stored stored) : threads_(threads), stored_(std::move(stored)) {}

  void run() override {
    const RunScope scope(threads_);
    run_attempts(attempt_of, this, Operands::kMemory);
  }

  // For phase 1: throws what the body refuses without looking at an element.
  void examine() {
    if constexpr (Op::kDryRun && has_tensors(Indices())) {
      const Signature call = sign(Signature::Detail::kShapes, Indices());
      if (is_accepted(call) || !dry_run(attempt_of, this, threads_)) return;
      if constexpr (is_simple(Indices())) require_kernels_once();
      accept(call);
    }
  }

  const char* name() const noexcept override { return Op::kName; }
  std::string trace_args() const override { return describe(Indices()); }
  std::vector<MemoryRange> memory_ranges() override { return ranges(Indices()); }
  const char* capture_obstacle() const noexcept override { return obstacle(Indices()); }
  void expect_replays() override { replayed_ = true; }
  std::unique_ptr<aclOpExecutor> clone() const override { return std::make_unique<Executor>(threads_, stored_); }
  std::vector<std::vector<aclTensor*>> tensors() override { return collect(Indices()); }
  size_t input_count() const override { return count(Indices()); }

 private:
  // Larger integers may be sizes, with which a body could compute for long on empty tensors too; axes are smaller.
  static constexpr int64_t kLargestAxis = 8;

  static void attempt_of(void* self, const Opening& opening) {
    static_cast<Executor*>(self)->attempt(opening, Indices());
  }

  template <size_t... I>
  static constexpr bool has_tensors(std::index_sequence<I...>) {
    return (false || ... || (Kinds::template At<I>::kRole != kind::Role::kValue));
  }

  template <size_t... I>
  static constexpr bool is_simple(std::index_sequence<I...>) {
    return (true && ... && Kinds::template At<I>::kSimple);
  }

  // A seed and the offset beside it are new in each call, and never refused.
  template <size_t... I>
  static constexpr bool is_random(const char* name, std::index_sequence<I...>) {
    return (false || ... || are_equal(Op::kParams[I], "seed")) &&
           (are_equal(name, "seed") || are_equal(name, "offset"));
  }

  template <size_t I>
  void sign_parameter(Signature& signature) const {
    if constexpr (!is_random(Op::kParams[I], Indices())) {
      Kinds::template At<I>::sign(std::get<I>(stored_), signature);
    }
  }

  template <size_t... I>
  Signature sign(Signature::Detail detail, std::index_sequence<I...>) const {
    Signature result(Op::kName, detail);
    (sign_parameter<I>(result), ...);
    return result;
  }

  void require_kernels_once() {
    const Signature dtypes = sign(Signature::Detail::kDtypes, Indices());
    if (dtypes.largest_integer() > kLargestAxis || is_accepted(dtypes)) return;
    require_kernels(attempt_of, this, threads_);
    accept(dtypes);
  }

  template <size_t... I>
  void attempt(const Opening& opening, std::index_sequence<I...> indices) {
    if (ready_) {
      try {
        // Nothing to close: the run before left the outputs as they were, so this one does.
        Op::run(Kinds::template At<I>::get(std::get<I>(*ready_))...);
      } catch (...) {
        ready_.reset();  // a run that throws may have left it in any state
        throw;
      }
      return;
    }
    Values values{Kinds::template At<I>::open(std::get<I>(stored_), Op::kParams[I], opening)...};
    compute(values, opening, indices);
    if (opening.operands != Operands::kMemory) return;
    // A replay comes with the same tensors: opening them costs more than a small operator.
    const bool steady = (true && ... && Kinds::template At<I>::steady(std::get<I>(values), std::get<I>(stored_)));
    if (replayed_ && steady) ready_ = std::move(values);
  }

  template <size_t... I>
  void compute(Values& values, const Opening& opening, std::index_sequence<I...>) {
    try {
      Op::run(Kinds::template At<I>::get(std::get<I>(values))...);
    } catch (const c10::Error& error) {
      // ATen gives an output the shape that it should have before it finds that it cannot have the memory.
      if (is_fault_of_shapes(error, opening.operands)) check_shapes(values, Indices());
      throw;
    }
    if (opening.operands != Operands::kMemory) {
      if (opening.operands == Operands::kNoMemory) check_shapes(values, Indices());
      return;
    }
    (Kinds::template At<I>::close(std::get<I>(values), std::get<I>(stored_), Op::kParams[I]), ...);
  }

  template <size_t... I>
  void check_shapes(const Values& values, std::index_sequence<I...>) const {
    (kind::check_shape(typename Kinds::template At<I>(), std::get<I>(values), std::get<I>(stored_), Op::kParams[I]),
     ...);
  }

  template <size_t... I>
  std::string describe(std::index_sequence<I...>) const {
    std::string result;
    ((result += (I == 0 ? "" : ",") + trace::quote(Op::kParams[I]) + ":" +
                trace::quote(Kinds::template At<I>::describe(std::get<I>(stored_)))),
     ...);
    return result;
  }

  template <size_t... I>
  std::vector<MemoryRange> ranges(std::index_sequence<I...>) {
    std::vector<MemoryRange> result;
    (add_ranges<typename Kinds::template At<I>>(std::get<I>(stored_), Op::kParams[I], result), ...);
    return result;
  }

  template <class Kind>
  static void add_ranges(typename Kind::Stored& stored, const char* name, std::vector<MemoryRange>& ranges) {
    std::vector<std::vector<aclTensor*>> tensors;
    Kind::each_tensor(stored, tensors);
    for (const auto& list : tensors) {
      for (const aclTensor* tensor : list) add_range(tensor, name, Kind::kAccess, ranges);
    }
  }

  template <size_t... I>
  static constexpr const char* obstacle(std::index_sequence<I...>) {
    constexpr bool dynamic = (false || ... || std::is_same_v<typename Kinds::template At<I>, kind::DynamicOut>);
    return dynamic ? "the shape of its result depends on values, so it has to run before the host can go on" : nullptr;
  }

  template <size_t... I>
  std::vector<std::vector<aclTensor*>> collect(std::index_sequence<I...>) {
    std::vector<std::vector<aclTensor*>> tensors;
    (Kinds::template At<I>::each_tensor(std::get<I>(stored_), tensors), ...);
    return tensors;
  }

  template <size_t... I>
  static constexpr size_t count(std::index_sequence<I...>) {
    return (size_t{0} + ... + size_t{Kinds::template At<I>::kRole == kind::Role::kInput});
  }

  // Members that replays use stand together at the front: large graphs do not fit into a cache.
  int threads_;
  bool replayed_ = false;
  std::optional<Values> ready_;  // opened by the run before
  Stored stored_;
};

// Phase 1.
template <class Op, size_t... I, class... Args>
std::unique_ptr<aclOpExecutor> make_executor(std::index_sequence<I...>, const Args&... args) {
  begin_operands();
  typename Op::Kinds::Stored stored{Op::Kinds::template At<I>::keep(args, Op::kParams[I])...};
  auto made = std::make_unique<Executor<Op>>(caller_threads(), std::move(stored));
  made->examine();
  return made;
}

template <class Op, class... Args>
aclnnStatus prepare(uint64_t* workspace_size, aclOpExecutor** executor, const Args&... args) noexcept {
  return ::opwright::prepare(Op::kPhase1, Op::kName, workspace_size, executor,
                             [&] { return make_executor<Op>(std::make_index_sequence<sizeof...(Args)>(), args...); });
}

}  // namespace opwright::opapi

// A function of any name. DRY_RUN: phase 1 may run the body as well, which has no effect but on its outputs.
#define OPWRIGHT_DEFINE_FUNCTION(FUNCTION, DRY_RUN, PARAMS, ...)                                                     \
  namespace opwright_kernels {                                                                                       \
  struct FUNCTION {                                                                                                  \
    static constexpr const char* kName = #FUNCTION;                                                                  \
    static constexpr const char* kPhase1 = #FUNCTION "GetWorkspaceSize";                                             \
    static constexpr const char* kParams[] = {OPWRIGHT_NAMES(PARAMS)};                                               \
    static constexpr bool kDryRun = DRY_RUN;                                                                         \
    using Kinds = ::opwright::opapi::KindList<OPWRIGHT_KINDS(PARAMS)>;                                               \
    static void run(OPWRIGHT_BODY_PARAMS(PARAMS)) { __VA_ARGS__; }                                                   \
  };                                                                                                                 \
  }                                                                                                                  \
  extern "C" OPWRIGHT_API aclnnStatus FUNCTION##GetWorkspaceSize(OPWRIGHT_C_PARAMS(PARAMS), uint64_t* workspaceSize, \
                                                                 aclOpExecutor** executor) {                         \
    return ::opwright::opapi::prepare<opwright_kernels::FUNCTION>(workspaceSize, executor, OPWRIGHT_ARGS(PARAMS));   \
  }                                                                                                                  \
  extern "C" OPWRIGHT_API aclnnStatus FUNCTION(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,     \
                                               aclrtStream stream) {                                                 \
    return ::opwright::execute(#FUNCTION, workspace, workspaceSize, executor, stream);                               \
  }

// A line of a table whose function has no aclnn prefix.
#define OPWRIGHT_FUNCTION(FUNCTION, PARAMS, ...) OPWRIGHT_DEFINE_FUNCTION(FUNCTION, true, PARAMS, __VA_ARGS__)

#define ACLNN(NAME, PARAMS, ...) OPWRIGHT_FUNCTION(aclnn##NAME, PARAMS, __VA_ARGS__)
