// partition/stitching.cpp: moves the nodes of a block into turns, engines between them.
#include "partition/stitching.h"

#include <torch/custom_class.h>

#include "engine.h"

namespace torch_aie::core::partition {

namespace {

using conversion::Segment;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

/// Appends a call of the engine, and reads its results in place of the segment's. `results` has those of the block's
/// earlier engines by the values that they replace: later segments name these values.
void append_call(Graph& graph, const Segment& segment, const std::string& attribute, Node* end,
                 std::unordered_map<Value*, Value*>& results) {
  const torch::jit::WithInsertPoint here(end);
  Value* const engine = graph.insertGetAttr(graph.inputs()[0], attribute);
  std::vector<Value*> operands = segment.inputs;
  for (Value*& operand : operands) {
    if (const auto found = results.find(operand); found != results.end()) operand = found->second;
  }
  Value* const inputs = graph.insertNode(graph.createList(c10::TensorType::get(), operands))->output();
  Value* const outputs = graph.insert(c10::Symbol::fromQualString("torch_aie::execute_engine"), {inputs, engine});
  Node* const unpack = graph.insertNode(graph.createListUnpack(outputs, segment.outputs.size()));
  for (size_t i = 0; i < segment.outputs.size(); ++i) {
    unpack->output(i)->setType(segment.outputs[i]->type());
    segment.outputs[i]->replaceAllUsesWith(unpack->output(i));
    results.emplace(segment.outputs[i], unpack->output(i));
  }
}

/// From the last one on: what a node made for others goes when they have gone.
void destroy_unused(const std::vector<Node*>& nodes) {
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (!(*node)->hasUses()) (*node)->destroy();
  }
}

/// The nodes that engines replace, and the evaluated ones that only those read, in the block's order.
std::vector<Node*> replaced(const BlockPlan& plan) {
  std::set<const Node*> inside;
  for (const Segment& segment : plan.segments) {
    inside.insert(segment.nodes.begin(), segment.nodes.end());
  }
  std::vector<Node*> nodes;
  for (Node* node : plan.block->nodes()) {
    if (inside.count(node)) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace

void stitch(lowering::Lowered& lowered, const BlockPlan& plan, const std::vector<c10::IValue>& engines, size_t& next) {
  const std::vector<Node*> gone = replaced(plan);
  Node* const end = plan.block->return_node();
  auto engine = engines.begin();
  std::unordered_map<Value*, Value*> results;
  for (size_t turn = 0; turn < plan.segments.size(); ++turn) {
    for (Node* node : plan.libtorch[turn]) node->moveBefore(end);
    const Segment& segment = plan.segments[turn];
    if (segment.members.empty()) continue;
    // Where a module is loaded without torch_aie, the error of torch.jit.load prints this name.
    const std::string attribute = "engine_" + std::to_string(next++) + "_needs_import_torch_aie";
    lowered.module.register_attribute(attribute, c10::getCustomClassType<c10::intrusive_ptr<runtime::Engine>>(),
                                      *engine++);
    append_call(*lowered.graph, segment, attribute, end, results);
  }
  destroy_unused(gone);
}

}  // namespace torch_aie::core::partition
