// partition/partition.cpp: nodes of any branches share a segment if no path between them leads through libtorch.
#include "partition/partition.h"

#include <algorithm>
#include <set>

#include "core/conversion/converters/converters.h"
#include "lowering/modules.h"

namespace torch_aie::core::partition {

namespace {

using conversion::Segment;
using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

/// Adds `node` after the evaluated nodes that it needs; other values that it needs become inputs.
class Collector {
 public:
  Collector(const std::vector<Node*>& members, const Placement& placement)
      : members_(members.begin(), members.end()), placement_(placement) {}

  void add(Node* node) {
    if (!taken_.insert(node).second) return;
    for (Value* input : node->inputs()) {
      Node* const producer = input->node();
      if (members_.count(producer) || placement_.of(producer) == Place::kEvaluated) {
        add(producer);
      } else if (known_inputs_.insert(input).second) {
        segment.inputs.push_back(input);
      }
    }
    segment.nodes.push_back(node);
  }

  Segment segment;

 private:
  std::set<Node*> members_;
  std::set<Node*> taken_;
  std::set<Value*> known_inputs_;
  const Placement& placement_;
};

/// Whether a value is read outside of its segment. Evaluated nodes read it only if their own results are read:
/// segments have copies of them.
class Readers {
 public:
  Readers(const std::vector<Node*>& members, const Placement& placement)
      : members_(members.begin(), members.end()), placement_(placement) {}

  bool outside(const Value* value) {
    const auto& uses = value->uses();
    return std::any_of(uses.begin(), uses.end(), [&](const auto& use) { return outside(use.user); });
  }

 private:
  bool outside(const Node* user) {
    if (members_.count(user)) return false;
    if (placement_.of(user) == Place::kEngine && user->owningBlock() == (*members_.begin())->owningBlock()) {
      return true;
    }
    if (placement_.of(user) != Place::kEvaluated) return true;
    const auto [known, first] = evaluated_.try_emplace(user, false);
    if (!first) return known->second;
    const auto outputs = user->outputs();
    const bool result = std::any_of(outputs.begin(), outputs.end(), [&](const Value* one) { return outside(one); });
    return evaluated_[user] = result;
  }

  std::set<const Node*> members_;
  std::unordered_map<const Node*, bool> evaluated_;
  const Placement& placement_;
};

Segment segment_of(const std::vector<Node*>& members, const Placement& placement) {
  if (members.empty()) return {};
  Collector collector(members, placement);
  for (Node* member : members) collector.add(member);
  Segment segment = std::move(collector.segment);
  segment.members = members;
  for (const Node* member : members) segment.converted += conversion::converters::FindConverter(member) ? 1 : 0;
  Readers readers(members, placement);
  for (Node* member : members) {
    for (Value* output : member->outputs()) {
      if (readers.outside(output)) segment.outputs.push_back(output);
    }
  }
  return segment;
}

/// In which turn each node of a block can run: libtorch's turn n, engine n, libtorch's turn n + 1.
class Turns {
 public:
  Turns(Block* block, const Placement& placement) : block_(block), placement_(placement) {
    for (Node* node : block->nodes()) place(node);
  }

  std::vector<std::vector<Node*>> libtorch;
  std::vector<std::vector<Node*>> engine;

 private:
  struct When {
    size_t engine = 0;    // from which turn of engines on
    size_t libtorch = 0;  // from which turn of libtorch on
    void after(const When& other) {
      engine = std::max(engine, other.engine);
      libtorch = std::max(libtorch, other.libtorch);
    }
  };

  void place(Node* node) {
    When when;
    wait_for_operands(node, when);
    if (placement_.of(node) == Place::kEngine) {
      add(engine, when.engine, node);
      when_[node] = {when.engine, when.engine + 1};
      return;
    }
    if (placement_.of(node) == Place::kEvaluated) {
      when_[node] = when;
    } else {
      if (placement_.ordered(node)) when.libtorch = last_ordered_ = std::max(when.libtorch, last_ordered_);
      when_[node] = {when.libtorch, when.libtorch};
    }
    add(libtorch, when.libtorch, node);
  }

  /// Blocks inside of a node read values of this block too.
  void wait_for_operands(const Node* node, When& when) const {
    for (const Value* input : node->inputs()) wait_for(input, when);
    for (const Block* inner : node->blocks()) {
      for (const Node* one : inner->nodes()) wait_for_operands(one, when);
      for (const Value* output : inner->outputs()) wait_for(output, when);
    }
  }

  void wait_for(const Value* value, When& when) const {
    const auto found = when_.find(value->node());
    if (found != when_.end()) when.after(found->second);
  }

  void add(std::vector<std::vector<Node*>>& turns, size_t turn, Node* node) {
    if (libtorch.size() <= turn) {
      libtorch.resize(turn + 1);
      engine.resize(turn + 1);
    }
    turns[turn].push_back(node);
  }

  Block* block_;
  const Placement& placement_;
  size_t last_ordered_ = 0;
  std::unordered_map<const Node*, When> when_;
};

BlockPlan plan_of(Block* block, const Placement& placement) {
  Turns turns(block, placement);
  BlockPlan plan{block, std::move(turns.libtorch), {}};
  for (const auto& members : turns.engine) plan.segments.push_back(segment_of(members, placement));
  return plan;
}

void plan_all(Block* block, const Placement& placement, std::vector<BlockPlan>& plans) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) plan_all(inner, placement, plans);
  }
  plans.push_back(plan_of(block, placement));
}

/// True if a segment went to libtorch.
bool dissolve_small(const std::vector<BlockPlan>& plans, Placement& placement, uint64_t least) {
  bool dissolved = false;
  for (const BlockPlan& plan : plans) {
    for (const Segment& segment : plan.segments) {
      if (segment.members.empty() || segment.converted >= least) continue;
      for (const Node* member : segment.members) placement.fall_back(member, "min_block_size");
      dissolved = true;
    }
  }
  if (dissolved) placement.settle();
  return dissolved;
}

bool has_shapes_by_values(const Block* block) {
  const auto nodes = block->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) {
    const auto blocks = node->blocks();
    return shapes_by_values(node) || node->kind() == c10::aten::index ||
           std::any_of(blocks.begin(), blocks.end(), has_shapes_by_values);
  });
}

void list(const Block* block, const Placement& placement, std::vector<std::string>& lines) {
  for (const Node* node : block->nodes()) {
    for (const Block* inner : node->blocks()) list(inner, placement, lines);
    if (placement.of(node) != Place::kLibtorch || placement.reason(node).empty()) continue;
    lines.push_back(util::nodeInfo(node) + lowering::source_of(node) + " [" + placement.reason(node) + "]");
  }
}

}  // namespace

std::vector<BlockPlan> plan(const std::shared_ptr<torch::jit::Graph>& graph, Placement& placement,
                            const torchscript::CompileOptions& options) {
  std::vector<BlockPlan> plans;
  do {
    plans.clear();
    plan_all(graph->block(), placement, plans);
  } while (dissolve_small(plans, placement, options.min_block_size));
  return plans;
}

bool needs_types(const torch::jit::Graph& graph, const torchscript::CompileOptions& options) {
  return !options.truncate_long_and_double || has_shapes_by_values(graph.block());
}

std::vector<std::string> left_over(torch::jit::Graph& graph, const Placement& placement) {
  std::vector<std::string> lines;
  list(graph.block(), placement, lines);
  return lines;
}

}  // namespace torch_aie::core::partition
