// run_mutex.h: the mutex of what runs share: plans, blocks, owners of memory, weights. It is one for the process,
// because a process may fork while other threads run engines: the handlers of fork lock it, so that the child finds all
// of that whole, and no lock that a thread holds which the child does not have.
#pragma once

#include <mutex>

namespace AscendIE {

/// For a few instructions only; never while tensors may be freed, which needs it.
std::mutex& run_mutex();

}  // namespace AscendIE
