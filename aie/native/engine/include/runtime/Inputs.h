// runtime/Inputs.h: the checks of a run, for inputs that no engine takes. Not part of the vendor's API.
#ifndef ASCENDIE_RUNTIME_INPUTS_H
#define ASCENDIE_RUNTIME_INPUTS_H

#include <ATen/core/TensorBody.h>

#include <string>
#include <vector>

#include "common/Common.h"
#include "common/Dims.h"

namespace AscendIE {

struct DeclaredInput {
  std::string name;
  at::ScalarType type = at::kFloat;
  std::vector<DimsRange> profiles;  // one shape, one range, or gears: as many for each input that has several shapes
};

/// Throws c10::Error that names the input, its type or shape, and what is allowed.
ASCENDIE_API void CheckInputs(const std::vector<DeclaredInput>& declared, const std::vector<at::Tensor>& given);

}  // namespace AscendIE
#endif
