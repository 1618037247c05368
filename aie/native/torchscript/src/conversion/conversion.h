// conversion/conversion.h: from nodes to a serialized model.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "common/Dims.h"
#include "torch_aie.h"

namespace torch_aie::core::conversion {

struct InputType {
  at::ScalarType type = at::kFloat;
  std::vector<int64_t> shape;  // if there are several, the first
  // Of a tensor whose shape is not fixed: what it is with each choice of the inputs' sizes, and what callers may give.
  std::vector<std::vector<int64_t>> samples = {};
  std::vector<AscendIE::DimsRange> profiles = {};
};

/// A part of a graph that one engine runs: nodes in their order, tensors that come in and go out.
struct Segment {
  std::vector<torch::jit::Node*> nodes;    // members, and copies of the evaluated nodes that they need
  std::vector<torch::jit::Node*> members;  // what the engine replaces
  std::vector<torch::jit::Value*> inputs;
  std::vector<torch::jit::Value*> outputs;
  size_t converted = 0;  // nodes that have a converter
};

/// A built-in converter threw c10::NotImplementedError: it does not have the node with these arguments.
class Declined : public std::runtime_error {
 public:
  Declined(const torch::jit::Node* node, const std::string& text) : std::runtime_error(text), node_(node) {}
  const torch::jit::Node* node() const { return node_; }

 private:
  const torch::jit::Node* node_;
};

/// Throws Declined, or c10::Error that names the node which does not convert.
std::string convert(const Segment& segment, const std::vector<InputType>& inputs,
                    const torchscript::CompileOptions& options);

}  // namespace torch_aie::core::conversion
