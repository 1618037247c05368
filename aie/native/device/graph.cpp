// graph.cpp: a compiled graph runs on the CPU: its inputs are taken there, its outputs to the device of the inputs.
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/csrc/jit/runtime/register_ops_utils.h>

#include <optional>

#include "npu.h"
#include "util/types.h"

namespace torch_aie::device {

namespace {

using c10::IValue;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Stack;
using torch::jit::Value;

constexpr const char* kToHost = "torch_aie::to_host";
constexpr const char* kToNpu = "torch_aie::to_npu";
constexpr const char* kFollow = "torch_aie::follow";

/// The value with each tensor in it moved; containers are made anew.
template <class Move>
IValue moved(const IValue& value, const Move& move) {
  if (value.isTensor()) return move(value.toTensor());
  if (value.isTuple()) {
    std::vector<IValue> elements;
    for (const IValue& element : value.toTupleRef().elements()) elements.push_back(moved(element, move));
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  if (value.isList()) {
    const c10::List<IValue> from = value.toList();
    c10::List<IValue> to(from.elementType());
    for (const IValue& element : from.vec()) to.push_back(moved(element, move));
    return to;
  }
  if (value.isGenericDict()) {
    const auto from = value.toGenericDict();
    c10::impl::GenericDict to(from.keyType(), from.valueType());
    for (const auto& entry : from) to.insert(entry.key(), moved(entry.value(), move));
    return to;
  }
  return value;
}

void to_host_operator(Stack& stack) {
  const IValue value = torch::jit::pop(stack);
  torch::jit::push(stack, moved(value, to_host));
}

void to_npu_operator(Stack& stack) {
  const c10::Device device = c10::impl::VirtualGuardImpl(kNpu).getDevice();
  const IValue value = torch::jit::pop(stack);
  torch::jit::push(stack, moved(value, [&](const at::Tensor& tensor) { return from_host(tensor, device); }));
}

void follow_operator(Stack& stack) {
  const c10::List<at::Tensor> inputs = torch::jit::pop(stack).toTensorList();
  for (const at::Tensor& input : inputs) {
    if (!input.defined() || input.device().is_cpu()) continue;
    const IValue value = torch::jit::pop(stack);
    const auto move = [&](const at::Tensor& tensor) { return from_host(tensor, input.device()); };
    return torch::jit::push(stack, moved(value, move));
  }
}

// Operators of the JIT: a type variable is no type of the dispatcher. Results may be the inputs themselves.
const torch::jit::RegisterOperators operators({
    torch::jit::Operator("torch_aie::to_host(t(a) value) -> t(a)", to_host_operator,
                         c10::AliasAnalysisKind::FROM_SCHEMA),
    torch::jit::Operator("torch_aie::to_npu(t(a) value) -> t(a)", to_npu_operator, c10::AliasAnalysisKind::FROM_SCHEMA),
    torch::jit::Operator("torch_aie::follow(t(a) value, Tensor[] inputs) -> t(a)", follow_operator,
                         c10::AliasAnalysisKind::FROM_SCHEMA),
});

Node* create(Graph& graph, const char* name, std::vector<Value*> inputs, const c10::TypePtr& type) {
  Node* const node = graph.create(c10::Symbol::fromQualString(name), inputs);
  node->output()->setType(type);
  return node;
}

std::optional<IValue> on_host(const IValue& constant) {
  if (constant.isDevice() && constant.toDevice().type() == kNpu) return c10::Device(at::kCPU);
  if (constant.isTensor() && constant.toTensor().defined() && constant.toTensor().device().type() == kNpu) {
    return to_host(constant.toTensor());
  }
  return std::nullopt;
}

void move_constants(torch::jit::Block* block) {
  for (Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks()) move_constants(inner);
    if (node->kind() != torch::jit::prim::Constant) continue;
    const auto value = torch::jit::toIValue(node->output());
    const auto replacement = value ? on_host(*value) : std::nullopt;
    if (!replacement) continue;
    const torch::jit::WithInsertPoint here(node);
    node->output()->replaceAllUsesWith(node->owningGraph()->insertConstant(*replacement));
  }
}

/// Has the operator kernels for torch_npu's device, and none for the CPU?
bool is_only_for_npu(const Node* node) {
  const torch::jit::Operator* const known = node->maybeOperator();
  if (known == nullptr) return false;
  const auto op = c10::Dispatcher::singleton().findSchema(known->schema().operator_name());
  return op && op->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1) &&
         !op->hasKernelForDispatchKey(c10::DispatchKey::CPU) &&
         !op->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
         !op->hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd);
}

void surround(Node* node) {
  Graph& graph = *node->owningGraph();
  for (size_t i = 0; i < node->inputs().size(); ++i) {
    if (!core::holds_tensor(node->input(i)->type())) continue;
    Node* const moved_in = create(graph, kToNpu, {node->input(i)}, node->input(i)->type());
    moved_in->insertBefore(node);
    node->replaceInput(i, moved_in->output());
  }
  for (Value* output : node->outputs()) {
    if (!core::holds_tensor(output->type())) continue;
    Node* const moved_out = create(graph, kToHost, {output}, output->type());
    moved_out->insertAfter(node);
    output->replaceAllUsesAfterNodeWith(moved_out, moved_out->output());
  }
}

void surround_npu_nodes(torch::jit::Block* block) {
  for (auto node = block->nodes().begin(); node != block->nodes().end(); ++node) {
    for (torch::jit::Block* inner : node->blocks()) surround_npu_nodes(inner);
    if (is_only_for_npu(*node)) surround(*node);
  }
}

/// Returns the graph's tensors among its inputs, before they are moved.
std::vector<Value*> take_inputs(Graph& graph) {
  std::vector<Value*> tensors;
  for (Value* input : graph.inputs().slice(1)) {  // the first is the module
    if (!core::holds_tensor(input->type())) continue;
    if (input->type()->isSubtypeOf(*c10::TensorType::get())) tensors.push_back(input);
    Node* const node = create(graph, kToHost, {input}, input->type());
    graph.prependNode(node);
    input->replaceAllUsesAfterNodeWith(node, node->output());
  }
  return tensors;
}

}  // namespace

void move_to_host(Graph& graph) {
  move_constants(graph.block());
  surround_npu_nodes(graph.block());
}

void follow_inputs(Graph& graph) {
  const std::vector<Value*> inputs = take_inputs(graph);
  if (inputs.empty()) return;
  Node* const list = graph.appendNode(graph.createList(c10::TensorType::get(), inputs));
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    Value* const output = graph.outputs()[i];
    if (!core::holds_tensor(output->type())) continue;
    Node* const node = create(graph, kFollow, {output, list->output()}, output->type());
    graph.appendNode(node);
    graph.return_node()->replaceInput(i, node->output());
  }
}

}  // namespace torch_aie::device
