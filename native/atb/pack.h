// native/atb/pack.h
// The operands of one call as descriptors of the aclnn layer, with the checks that need no more than a description.
#pragma once

#include <deque>
#include <initializer_list>
#include <vector>

#include "atb/abi.h"
#include "nnopbase/objects.h"

namespace opwright::atb_library {

// Throws what ATB answers to a wrong operand.
void require_rank(const aclTensor& tensor, const char* name, std::initializer_list<size_t> allowed);
void require_dtype(const aclTensor& tensor, const char* name, std::initializer_list<aclDataType> allowed);
void require_size(const aclTensor& tensor, const char* name, size_t dim, int64_t size, const char* reason);
void require_sizes(const aclTensor& tensor, const char* name, const Dims& sizes, const char* reason);

// Numbers that lie on the host, as lengths of sequences do.
aclIntArray host_numbers(const aclTensor& tensor, const char* name);

// Owns the descriptors; they live as long as the pack.
class Pack {
 public:
  // Throws 5 or 15 where the caller passes another number of tensors.
  Pack(const atb::VariantPack& pack, size_t inputs, size_t outputs);

  // Of the device; throws 14 where it is not.
  aclTensor& in(size_t i, const char* name);
  aclTensor& out(size_t i, const char* name);
  // Of the host. The array is the caller's numbers in their order; `rank` how many dimensions the tensor has.
  const aclIntArray& lengths(size_t i, const char* name, std::initializer_list<size_t> ranks = {1});

 private:
  aclTensor& made(const atb::Tensor& tensor, const char* name, void* data);

  const atb::VariantPack& pack_;
  std::deque<aclTensor> tensors_;
  std::deque<aclIntArray> arrays_;
};

}  // namespace opwright::atb_library
