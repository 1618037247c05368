// native/runtime/order/tensor_memory.h
// Which tensor device memory belongs to. torch_npu's allocator gives memory of tensors that were freed to new ones
// without a call of the runtime; in a process with Python it reports that (opwright/twin/order.py, native/npu_memory).
#pragma once

#include <cstdint>
#include <string>

namespace opwright::order {

// Begins to follow torch_npu's allocator, if the process has it.
void follow_tensors();

// A number that no other tensor's memory has; 0 if it is not known. Later ones have larger numbers.
uint64_t tensor_at(const void* address);
// Whether a tensor's memory is in a private pool of the allocator's, as that of a captured graph is.
bool is_of_pool(uint64_t tensor);
// No tensor that got memory so far has a larger number, and all later ones have.
uint64_t last_tensor();

// From now on it is remembered where this tensor's memory is freed.
void remember_end_of(uint64_t tensor);
// Python's lines there, or an empty text.
std::string end_of(uint64_t tensor);

}  // namespace opwright::order
