// partition/placement.h: which node runs where, and why.
#pragma once

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "partition/dependence.h"
#include "partition/observation.h"
#include "torch_aie.h"

namespace torch_aie::core::partition {

enum class Place {
  kEngine,     // a converter makes layers of it
  kEvaluated,  // its outputs are known when a network is built: engines have copies of it
  kLibtorch,
};

/// Null: nothing was run; then the types of the graph's inputs are all that segments need.
struct Knowledge {
  const Observations* observations = nullptr;
  std::set<const torch::jit::Node*> declined;  // by their converters
};

class Placement {
 public:
  Placement(const std::shared_ptr<torch::jit::Graph>& graph, const torchscript::CompileOptions& options,
            const Knowledge& knowledge);

  Place of(const torch::jit::Node* node) const;
  /// Why the node runs on libtorch; empty for what follows from other nodes, such as lists of their results.
  const std::string& reason(const torch::jit::Node* node) const;
  /// Nodes that must stay in their order: they write what others read, print, or draw random numbers.
  bool ordered(const torch::jit::Node* node) const { return ordered_.count(node) > 0; }
  /// Moves the node, and the nodes that it takes along, to libtorch.
  void fall_back(const torch::jit::Node* node, const std::string& reason);
  /// Call it after the last `fall_back`.
  void settle();

 private:
  void enter(torch::jit::Block* block);
  void decide(const torch::jit::Node* node);
  bool follow(const torch::jit::Node* node);
  std::string hindrance(const torch::jit::Node* node) const;
  bool depends_on_sizes(const torch::jit::Node* node) const;
  std::string unfit(const torch::jit::Value* value) const;
  std::string unfit_type(const torch::jit::Value* value) const;
  bool has_effects(const torch::jit::Node* node) const;
  bool comes_in(const torch::jit::Value* value, const torch::jit::Node* user) const;
  bool unpacks_engines_list(const torch::jit::Node* node) const;
  bool list_stays_inside(const torch::jit::Value* list) const;

  struct Where {
    Place place = Place::kLibtorch;
    std::string reason;
  };

  const torchscript::CompileOptions& options_;
  const Knowledge& knowledge_;
  const torch::jit::AliasDb aliases_;
  Dependences dependences_;
  std::vector<const torch::jit::Node*> nodes_;  // all, in their order
  std::unordered_map<const torch::jit::Node*, Where> places_;
  std::set<const torch::jit::Node*> ordered_;
};

}  // namespace torch_aie::core::partition
