// partition.h: which nodes run on engines.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <string>
#include <vector>

#include "conversion.h"
#include "torch_aie.h"

namespace torch_aie::core::partition {

/// Runs of consecutive nodes that have converters, at least min_block_size of them.
std::vector<conversion::Segment> segments_of(torch::jit::Graph& graph, const torchscript::CompileOptions& options);

/// One line for each node that runs on libtorch: the operator and its source line.
std::vector<std::string> left_over(torch::jit::Graph& graph, const torchscript::CompileOptions& options);

}  // namespace torch_aie::core::partition
