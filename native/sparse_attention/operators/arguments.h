// native/sparse_attention/operators/arguments.h
// Refusals of an operator of PyTorch before its results exist, of tensors without memory (Meta) too.
#pragma once

#include <initializer_list>

#include "sparse_attention/tokens.h"

namespace opwright::sparse {

struct Argument {
  Argument(const char* parameter, const at::Tensor& given) : name(parameter), tensor(&given) {}
  Argument(const char* parameter, const OptionalTensor& given) : name(parameter), tensor(given ? &*given : nullptr) {}

  const char* name;
  const at::Tensor* tensor;  // null: absent
};

// Throws 161002 for a tensor that is not where the first one is: the dispatcher takes Meta kernels, which compute
// nothing, if any tensor is of that device.
void require_one_device(std::initializer_list<Argument> arguments);

}  // namespace opwright::sparse
