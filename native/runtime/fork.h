// native/runtime/fork.h
// Limits of a forked child: it reaches no memory, stream or operator. The streams' worker threads do not
// survive a fork, and whoever waited for one would wait for ever.
#pragma once

#include "runtime/error.h"

namespace opwright {

// Throws 107002 in a forked child of a process that has used the devices.
OPWRIGHT_API void require_not_forked();

}  // namespace opwright
