// partition/partition.h: from places of nodes to segments, and to an order in which engines and libtorch take turns.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "conversion/conversion.h"
#include "partition/placement.h"

namespace torch_aie::core::partition {

/// One block: the nodes of turn n on libtorch, then the segment of turn n, and so on.
struct BlockPlan {
  torch::jit::Block* block = nullptr;
  std::vector<std::vector<torch::jit::Node*>> libtorch;  // evaluated ones among them
  std::vector<conversion::Segment> segments;             // as many; without nodes where none is
};

/// Inner blocks before the blocks that hold them. Segments have at least min_block_size nodes with a converter.
std::vector<BlockPlan> plan(const std::shared_ptr<torch::jit::Graph>& graph, Placement& placement,
                            const torchscript::CompileOptions& options);

/// Whether places depend on types of inner values: then the graph must be run even if an engine could have all of it.
bool needs_types(const torch::jit::Graph& graph, const torchscript::CompileOptions& options);

/// One line for each node that runs on libtorch: the operator, its source line, and why.
std::vector<std::string> left_over(torch::jit::Graph& graph, const Placement& placement);

}  // namespace torch_aie::core::partition
