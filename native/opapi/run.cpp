// native/opapi/run.cpp
// How an operator runs on a stream's worker.
#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <malloc.h>
#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "opapi/aten_error.h"
#include "opapi/declare.h"
#include "opapi/threads.h"

// Of the MKL in libtorch, if it has one; the name in lower case is Fortran's. Answers the number that held before, 0
// for MKL's default.
extern "C" int MKL_Set_Num_Threads_Local(int count) __attribute__((weak));

namespace opwright::opapi {

namespace {

// ATen's own grain (at::internal::GRAIN_SIZE): where all operands together have fewer elements, waking a thread takes
// longer than the work.
constexpr int64_t kElementsForThreads = 32768;

// The elements of the operands that this thread has taken since its phase 1 began.
thread_local int64_t taken_elements = 0;

// An operator's number of threads goes from the thread that makes its executor to the one that runs it as one number:
// below zero for an operator that is too small for more than one thread, which still has the caller's number where ATen
// asks for it. With one thread alone the two are the same, so that -1 says nothing more.
bool is_small(int threads) noexcept { return threads < -1; }

// Whether the body that this thread runs has effects that a second run would repeat.
thread_local bool has_effects = false;

// Whether the operator of this thread's last RunScope is small; run_attempts takes it.
thread_local bool is_next_small = false;

// While it lives the calling thread computes alone: also where ATen or MKL would divide the work whatever its size
// (softmax, norms, gelu, batches of products). The process's number of threads, which at::set_num_threads would change
// and new threads begin with, stays as it is.
class OneThread {
 public:
  OneThread() : threads_(omp_get_max_threads()) {
    omp_set_num_threads(1);
    if (MKL_Set_Num_Threads_Local != nullptr) mkl_threads_ = MKL_Set_Num_Threads_Local(1);
  }
  ~OneThread() {
    omp_set_num_threads(threads_);
    if (MKL_Set_Num_Threads_Local != nullptr) MKL_Set_Num_Threads_Local(mkl_threads_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const int threads_;
  int mkl_threads_ = 0;
};

// glibc gives a worker's freed memory back to the system at once, unlike the main thread's; ATen's temporaries of some
// megabytes would then be page-faulted anew in every operator (a 3x3 convolution took 1.75 times as long as on the main
// thread). The two values are what glibc itself adapts to at most on a main thread, and twice that.
void keep_temporaries() {
  constexpr int kMost = 32 << 20;  // DEFAULT_MMAP_THRESHOLD_MAX on 64-bit systems
  static const bool done = [] {
    return mallopt(M_MMAP_THRESHOLD, kMost) == 1 && mallopt(M_TRIM_THRESHOLD, 2 * kMost) == 1;
  }();
  static_cast<void>(done);  // without it operators are slower, not wrong
}

}  // namespace

RunScope::RunScope(int threads) {
  keep_temporaries();
  // The thread count is a property of each thread; a worker follows the thread that made the call.
  const int callers = std::abs(threads);
  if (callers != at::get_num_threads()) at::set_num_threads(callers);
  is_next_small = is_small(threads);
}

void begin_operands() noexcept { taken_elements = 0; }

void note_operand(int64_t elements) noexcept { taken_elements += elements; }

// As is_small reads it.
int caller_threads() noexcept {
  const int threads = at::get_num_threads();
  return taken_elements < kElementsForThreads ? -threads : threads;
}

namespace {

// Whether ATen has none for a dtype that the second attempt widens.
bool lacks_kernel(const c10::Error& error) {
  const std::string message = error.what_without_backtrace();
  const auto has = [&](const char* text) { return message.find(text) != std::string::npos; };
  if (has("Promotion for uint16, uint32, uint64 types is not supported")) return true;
  return has("not implemented for") && (has("Half") || has("BFloat16") || has("UInt16") || has("UInt32"));
}

[[noreturn]] void translate(const c10::Error& error) {
  std::string message = error.what_without_backtrace();
  // The text of a check without a text of its own goes on with a request to PyTorch's users.
  message.resize(std::min(message.size(), message.find("  (Could this error message be improved?")));
  const bool no_kernel = message.find("not implemented for") != std::string::npos;
  throw AtenError(no_kernel ? ACLNN_ERR_INNER_KERNEL_NOT_FOUND : ACLNN_ERR_PARAM_INVALID, message);
}

}  // namespace

void begin_effects() {
  end_dry_run();
  has_effects = true;
}

void run_attempts(Attempt attempt, void* self, Operands operands) {
  std::optional<OneThread> alone;
  if (std::exchange(is_next_small, false)) alone.emplace();
  for (const bool widen : {false, true}) {
    has_effects = false;
    try {
      attempt(self, Opening{widen, operands});
      return;
    } catch (const c10::Error& error) {
      if (is_request_for_memory(error)) throw;
      if (widen || has_effects || !lacks_kernel(error)) translate(error);
    } catch (const Error&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      throw Error(ACLNN_ERR_INNER, error.what());  // a user's kernel may throw anything of the standard library
    }
  }
}

}  // namespace opwright::opapi
