// partition/late_numbers.h: numbers that were the same with both ends of a range of sizes, and may be others between.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include "partition/observation.h"

namespace torch_aie::core::partition {

/// Marks numbers that are calculated from sizes in such a way that equal values at both ends say nothing, as n % 2.
void mark_late_numbers(const torch::jit::Graph& graph, Observations& observations);

}  // namespace torch_aie::core::partition
