// partition.cpp: segments, with the producers of their integers and lists copied in.
#include "partition.h"

#include <algorithm>
#include <set>

#include "core/conversion/converters/converters.h"
#include "evaluators.h"

namespace torch_aie::core::partition {

namespace {

using conversion::Segment;
using torch::jit::Node;
using torch::jit::Value;

enum class Place { kEngine, kEvaluated, kLibtorch };

Place place_of(const Node* node, const torchscript::CompileOptions& options) {
  const auto& forced = options.torch_executed_ops;
  if (std::find(forced.begin(), forced.end(), node->kind().toQualString()) != forced.end()) return Place::kLibtorch;
  if (conversion::converters::FindConverter(node)) return Place::kEngine;
  return conversion::is_evaluable(node) ? Place::kEvaluated : Place::kLibtorch;
}

/// Adds `node` after the evaluable nodes that it needs; other values that it needs become inputs.
class Collector {
 public:
  Collector(const std::vector<Node*>& members, const torchscript::CompileOptions& options)
      : members_(members.begin(), members.end()), options_(options) {}

  void add(Node* node) {
    if (!taken_.insert(node).second) return;
    for (Value* input : node->inputs()) {
      Node* const producer = input->node();
      if (members_.count(producer) || place_of(producer, options_) == Place::kEvaluated) {
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
  const torchscript::CompileOptions& options_;
};

/// Uses by evaluable nodes count only if their own results are used: segments have copies of them.
bool used_outside(const Value* value, const std::set<const Node*>& members,
                  const torchscript::CompileOptions& options) {
  const auto& uses = value->uses();
  return std::any_of(uses.begin(), uses.end(), [&](const auto& use) {
    if (members.count(use.user)) return false;
    if (place_of(use.user, options) != Place::kEvaluated) return true;
    const auto outputs = use.user->outputs();
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](const Value* output) { return used_outside(output, members, options); });
  });
}

Segment segment_of(const std::vector<Node*>& members, const torchscript::CompileOptions& options) {
  Collector collector(members, options);
  for (Node* member : members) collector.add(member);
  Segment segment = std::move(collector.segment);
  segment.converted = members.size();
  const std::set<const Node*> inside(members.begin(), members.end());
  for (Node* member : members) {
    for (Value* output : member->outputs()) {
      if (used_outside(output, inside, options)) segment.outputs.push_back(output);
    }
  }
  return segment;
}

bool takes_only_tensors(const Segment& segment) {
  return std::all_of(segment.inputs.begin(), segment.inputs.end(),
                     [](const Value* input) { return input->type()->isSubtypeOf(*c10::TensorType::get()); });
}

bool returns_only_tensors(const Node* node) {
  return std::all_of(node->outputs().begin(), node->outputs().end(),
                     [](const Value* output) { return output->type()->isSubtypeOf(*c10::TensorType::get()); });
}

}  // namespace

std::vector<Segment> segments_of(torch::jit::Graph& graph, const torchscript::CompileOptions& options) {
  std::vector<Segment> segments;
  std::vector<Node*> members;
  const auto close = [&] {
    if (!members.empty() && members.size() >= options.min_block_size) {
      segments.push_back(segment_of(members, options));
    }
    members.clear();
  };
  for (Node* node : graph.nodes()) {
    const Place place = place_of(node, options);
    if (place == Place::kEvaluated) continue;
    // A node with integers from libtorch, or lists as outputs, stays there.
    const bool fits =
        place == Place::kEngine && returns_only_tensors(node) && takes_only_tensors(segment_of({node}, options));
    if (fits) {
      members.push_back(node);
    } else {
      close();
    }
  }
  close();
  return segments;
}

std::vector<std::string> left_over(torch::jit::Graph& graph, const torchscript::CompileOptions& options) {
  std::set<const Node*> inside;
  for (const Segment& segment : segments_of(graph, options)) inside.insert(segment.nodes.begin(), segment.nodes.end());
  std::vector<std::string> lines;
  for (const Node* node : graph.nodes()) {
    const bool evaluated = place_of(node, options) == Place::kEvaluated;
    if (!evaluated && !inside.count(node)) lines.push_back(util::nodeInfo(node));
  }
  return lines;
}

}  // namespace torch_aie::core::partition
