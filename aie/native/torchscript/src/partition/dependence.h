// partition/dependence.h: which values of a graph depend on what tensors hold when it runs, not on their shapes alone.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <unordered_map>

#include "partition/observation.h"

namespace torch_aie::core::partition {

struct Dependence {
  bool shape = false;  // of tensors and lists
  bool value = false;

  bool operator|=(const Dependence& other) {
    const bool more = (other.shape && !shape) || (other.value && !value);
    shape |= other.shape;
    value |= other.value;
    return more;
  }
};

using Dependences = std::unordered_map<const torch::jit::Value*, Dependence>;

/// The shapes of the graph's inputs count as known. `observations` distinguish masks from indices.
Dependences dependences_of(torch::jit::Graph& graph, const Observations& observations);

/// True for operators such as nonzero.
bool shapes_by_values(const torch::jit::Node* node);

}  // namespace torch_aie::core::partition
