// native/opapi/run.cpp
// How an operator runs on a stream's worker.
#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <malloc.h>

#include "opapi/declare.h"

namespace opwright::opapi {

namespace {

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
  if (threads != at::get_num_threads()) at::set_num_threads(threads);
}

int caller_threads() noexcept { return at::get_num_threads(); }

namespace {

bool lacks_half_kernel(const c10::Error& error) {
  const std::string message = error.what_without_backtrace();
  return message.find("not implemented for") != std::string::npos &&
         (message.find("Half") != std::string::npos || message.find("BFloat16") != std::string::npos);
}

[[noreturn]] void translate(const c10::Error& error) {
  const std::string message = error.what_without_backtrace();
  const bool no_kernel = message.find("not implemented for") != std::string::npos;
  throw Error(no_kernel ? ACLNN_ERR_INNER_KERNEL_NOT_FOUND : ACLNN_ERR_PARAM_INVALID, message);
}

}  // namespace

void run_attempts(void (*attempt)(void* self, const Opening& opening), void* self) {
  try {
    try {
      attempt(self, Opening{});
    } catch (const c10::Error& error) {
      if (!lacks_half_kernel(error)) throw;
      attempt(self, Opening{/*widen=*/true});
    }
  } catch (const c10::Error& error) {
    translate(error);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ACLNN_ERR_INNER, error.what());  // a user's kernel may throw anything of the standard library
  }
}

}  // namespace opwright::opapi
