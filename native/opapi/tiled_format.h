// native/opapi/tiled_format.h
// Storage formats of the matrix unit: the memory holds blocks, padded with zeros, of a tensor whose sizes and strides
// are those of the base format. Kernels get a copy in the base format, and what they write is put back in blocks.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "nnopbase/objects.h"

namespace opwright::opapi {

// FRACTAL_NZ whose C0 is not the one of its dtype, on Ascend950.
constexpr auto kNzC0Of16 = static_cast<aclFormat>(50);
constexpr auto kNzC0Of32 = static_cast<aclFormat>(51);
constexpr auto kNzC0Of2 = static_cast<aclFormat>(52);
constexpr auto kNzC0Of4 = static_cast<aclFormat>(53);
constexpr auto kNzC0Of8 = static_cast<aclFormat>(54);

// NC1HWC0, FRACTAL_Z, FRACTAL_NZ (also with a given C0), NDC1HWC0, FRACTAL_Z_3D.
bool is_tiled(aclFormat format) noexcept;

// The sizes of the storage of a tensor with these sizes of the base format. `c0`: the last dimension, elements.
// Throws 161002 if the format has no place for a tensor of this rank.
std::vector<int64_t> tiled_sizes(aclFormat format, at::IntArrayRef sizes, int64_t c0);

// The same tensor with a storage in blocks of the format, whose last dimension is that of its dtype.
aclTensor with_blocks(const aclTensor& tensor, aclFormat format);

// Checks what `validate` checks for base formats: live device memory, and a storage shape that belongs to the sizes.
// The view has to be the whole tensor; its dimensions may be permuted.
void validate_tiled(const aclTensor& tensor, const char* name);

// A copy of a validated tensor in the base format, with the sizes of the view.
at::Tensor unpack(const aclTensor& tensor);

// Writes `values`, which has the sizes of the view, into the tensor's storage.
void pack(const at::Tensor& values, const aclTensor& tensor);

// The same for a storage that is a tensor of its own, of the storage's sizes: of numbers for which torch has no dtype.
at::Tensor unpack_blocks(const at::Tensor& storage, const aclTensor& tensor);
void pack_blocks(const at::Tensor& values, const at::Tensor& storage, const aclTensor& tensor);

}  // namespace opwright::opapi
