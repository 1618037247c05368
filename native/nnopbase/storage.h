// native/nnopbase/storage.h
// What `validate` (validate.h) checks of a tensor whose storage is not laid out as its view says.
#pragma once

#include "nnopbase/objects.h"

namespace opwright {

// Throws 161002 unless the whole storage lies in live memory of the device of the call's other tensors.
OPWRIGHT_API void validate_storage(const aclTensor& tensor, const char* name);

}  // namespace opwright
