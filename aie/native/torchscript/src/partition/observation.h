// partition/observation.h: what the values of a graph are when it runs: types and shapes of tensors; sizes and other
// numbers.
#pragma once

#include <ATen/core/ivalue.h>

#include <optional>
#include <unordered_map>
#include <vector>

#include "conversion/conversion.h"
#include "lowering/lowering.h"

namespace torch_aie::core::partition {

struct Observed {
  std::optional<conversion::InputType> tensor;
  c10::IValue value;     // of what is no tensor
  bool varies = false;   // it was something else the second time
  bool by_size = false;  // a number that is another one with other sizes of the inputs
};

/// Values that no run reached are absent, and so are lists of tensors.
using Observations = std::unordered_map<const torch::jit::Value*, Observed>;

/// Runs the method on zeros of these types, then the branches that it did not take; with each choice of the inputs'
/// sizes if they have several.
/// Throws c10::Error if the method does not run on them.
Observations observe(const lowering::Lowered& lowered, const std::vector<conversion::InputType>& inputs);

}  // namespace torch_aie::core::partition
