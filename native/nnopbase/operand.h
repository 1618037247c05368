// native/nnopbase/operand.h
// Where a kernel finds the memory of a tensor while its task runs.
#pragma once

#include "nnopbase/objects.h"

namespace opwright {

// The start of the tensor's storage, to which its offset applies; null for a null address. In guarded memory only the
// elements of the view can be reached from there (runtime/memory/guard/windows.h).
OPWRIGHT_API void* storage_of(const aclTensor& tensor);

}  // namespace opwright
