// native/nnopbase/validate.h
// Checks of a tensor in phase 1 of every aclnn function, and how a tensor appears in the trace.
#pragma once

#include <string>
#include <vector>

#include "nnopbase/objects.h"
#include "runtime/streams/task.h"

namespace opwright {

// Formats that only name the dimensions; the others are tiled layouts of the device's matrix unit.
OPWRIGHT_API bool is_base_format(aclFormat format) noexcept;

// Throws 161002 unless the format is a base format and the view lies in its storage, in live device memory.
OPWRIGHT_API void validate(const aclTensor& tensor, const char* name);
// The same for a tensor whose storage is not laid out as its view says: the whole storage lies in live device memory.
OPWRIGHT_API void validate_storage(const aclTensor& tensor, const char* name);

// All tensors of one call lie on one device: `begin_operands` starts a call on this thread, `validate` throws 161002
// for a tensor on another device than the ones before it, `device_of_operands` answers which device it was.
constexpr int kNoOperands = -1;
OPWRIGHT_API void begin_operands() noexcept;
OPWRIGHT_API int device_of_operands() noexcept;

struct Access {
  bool read;
  bool written;
};

// Adds the memory that a validated tensor covers. Null and empty tensors cover none.
OPWRIGHT_API void add_range(const aclTensor* tensor, const char* name, Access access, std::vector<MemoryRange>& ranges);

// "float32[2, 3]"
OPWRIGHT_API std::string summary(const aclTensor& tensor);

}  // namespace opwright
