// native/runtime/memory/guard/windows.h
// The operands of one kernel while it runs: each is copied to a room of its own in the arena, and what the kernel
// changed there is copied back. Operands that share memory share a room.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/error.h"
#include "runtime/streams/task.h"

namespace opwright::guard {

class OPWRIGHT_API Windows {
 public:
  // For the kernel `function`, which this thread runs next. Innermost first, if kernels run inside of kernels.
  Windows(const char* function, const std::vector<MemoryRange>& operands);
  // Forgets what `close` did not look at.
  ~Windows();
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  // Copies results back, reports what the kernel did outside of its operands (report.h), and answers the first of it in
  // words; empty if there is nothing.
  std::string close();

  // Where the kernel that runs on this thread finds an operand; nullptr if it is not in a window. No bytes: an address
  // that nothing may be read from.
  static void* find(const void* address, size_t size);

 private:
  struct Window;
  void* find_here(uintptr_t address, size_t size);

  const char* const function_;
  Windows* const outer_;
  std::vector<Window> windows_;
};

// Runs a task that is a kernel, with its operands in windows. Throws 561000 if it leaves them.
OPWRIGHT_API void run_guarded(Task& task);

}  // namespace opwright::guard
