// partition/stitching.h: calls of engines in place of the nodes that they replace.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "lowering/lowering.h"
#include "partition/partition.h"

namespace torch_aie::core::partition {

/// Puts the engines of a block's segments (one for each segment with members) into the module and its graph.
/// `next` numbers the engines of the module.
void stitch(lowering::Lowered& lowered, const BlockPlan& plan, const std::vector<c10::IValue>& engines, size_t& next);

}  // namespace torch_aie::core::partition
