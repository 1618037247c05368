// compile.cpp: compile and export_engine.
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/custom_class.h>

#include <map>

#include "conversion.h"
#include "core/conversion/converters/converters.h"
#include "core/util/prelude.h"
#include "engine.h"
#include "inputs.h"
#include "log.h"
#include "lowering.h"
#include "partition.h"
#include "torch_aie.h"

namespace torch_aie {

namespace {

using core::conversion::InputType;
using core::conversion::Segment;
using core::lowering::Lowered;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
using torchscript::CompileOptions;

constexpr int kLastDevice = 1024;
constexpr uint64_t kLargestBlock = 1024;

/// The values of a copy: a copy has the same nodes in the same order, but other names.
std::map<const Value*, Value*> copied_values(Graph& graph, Graph& copy) {
  std::map<const Value*, Value*> values;
  const auto add = [&](const auto& from, const auto& to) {
    for (size_t i = 0; i < from.size(); ++i) values[from[i]] = to[i];
  };
  add(graph.inputs(), copy.inputs());
  auto to = copy.nodes().begin();
  for (Node* node : graph.nodes()) add(node->outputs(), (*to++)->outputs());
  return values;
}

/// What the segments take in, found by running a copy of the graph on zeros.
std::vector<InputType> types_of(const std::vector<const Value*>& values, const Lowered& lowered,
                                const std::vector<InputType>& inputs) {
  const std::shared_ptr<Graph> copy = lowered.graph->copy();
  while (!copy->outputs().empty()) copy->eraseOutput(0);
  const std::map<const Value*, Value*> copied = copied_values(*lowered.graph, *copy);
  for (const Value* value : values) copy->registerOutput(copied.at(value));
  torch::jit::EliminateDeadCode(copy);
  torch::jit::Stack stack{lowered.module._ivalue()};
  for (const InputType& input : inputs) stack.emplace_back(at::zeros(input.shape, input.type));
  torch::jit::InterpreterState(torch::jit::Code(copy, "shapes")).run(stack);
  std::vector<InputType> types;
  for (const c10::IValue& value : stack)
    types.push_back({value.toTensor().scalar_type(), value.toTensor().sizes().vec()});
  return types;
}

std::vector<std::string> models_of(const std::vector<Segment>& segments, const Lowered& lowered,
                                   const CompileOptions& options) {
  std::vector<const Value*> values;
  for (const Segment& segment : segments) values.insert(values.end(), segment.inputs.begin(), segment.inputs.end());
  const std::vector<InputType> types =
      types_of(values, lowered, core::conversion::input_types(*lowered.graph, options));
  std::vector<std::string> models;
  auto from = types.begin();
  for (const Segment& segment : segments) {
    const auto to = from + static_cast<std::ptrdiff_t>(segment.inputs.size());
    models.push_back(core::conversion::convert(segment, {from, to}, options));
    from = to;
  }
  return models;
}

/// Puts a call of the engine before the segment's first node, and its results in place of the segment's.
void insert_engine(Lowered& lowered, const Segment& segment, const std::string& attribute, Node* before) {
  Graph& graph = *lowered.graph;
  const torch::jit::WithInsertPoint here(before);
  Value* const engine = graph.insertGetAttr(graph.inputs()[0], attribute);
  Value* const inputs = graph.insertNode(graph.createList(c10::TensorType::get(), segment.inputs))->output();
  Value* const outputs = graph.insert(c10::Symbol::fromQualString("torch_aie::execute_engine"), {inputs, engine});
  Node* const unpack = graph.insertNode(graph.createListUnpack(outputs, segment.outputs.size()));
  for (size_t i = 0; i < segment.outputs.size(); ++i) {
    segment.outputs[i]->replaceAllUsesWith(unpack->outputs()[i]);
  }
}

/// The first node that the segment replaces: constants and lists before it may belong to others too.
Node* first_converted(const Segment& segment) {
  Node* first = segment.outputs.front()->node();
  for (Node* node : segment.nodes) {
    if (core::conversion::converters::FindConverter(node) && node->isBefore(first)) first = node;
  }
  return first;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "\n  " + line;
  return text;
}

void expect_in(uint64_t value, uint64_t most, const char* option) {
  TORCH_CHECK_VALUE(value <= most, option, ": got ", value, ", allowed are 0 to ", most);
}

void check(const CompileOptions& options) {
  expect_in(options.min_block_size, kLargestBlock, "min_block_size");
  TORCH_CHECK_VALUE(options.optimization_level >= 0 && options.optimization_level <= 2, "optimization_level: got ",
                    options.optimization_level, ", allowed are 0, 1, 2");
  TORCH_CHECK_VALUE(options.torch_executed_modules.empty(), "torch_executed_modules is not supported yet");
}

/// An error with everything that runs on libtorch, if there is any.
void expect_whole(Graph& graph, const CompileOptions& options) {
  const std::vector<std::string> left = core::partition::left_over(graph, options);
  TORCH_CHECK_VALUE(left.empty(), "the graph cannot be compiled as a whole; these run on libtorch:", joined(left));
}

}  // namespace

void set_device(int id) {
  TORCH_CHECK_VALUE(id >= 0 && id <= kLastDevice, "set_device: got ", id, ", allowed are 0 to ", kLastDevice);
}

void finalize() { AscendIE::Finalize(); }

namespace torchscript {

torch::jit::Module compile(const torch::jit::Module& module, const CompileSpec& spec) {
  CompileOptions options = spec;
  check(options);
  if (options.require_full_compilation) options.min_block_size = 1;
  Lowered lowered = core::lowering::lower(module, "forward");
  if (options.require_full_compilation) expect_whole(*lowered.graph, options);
  const std::vector<Segment> segments = core::partition::segments_of(*lowered.graph, options);
  if (segments.empty()) log(Level::kWarning, "no part of the graph runs on an engine");
  const std::vector<std::string> models = models_of(segments, lowered, options);
  for (size_t i = 0; i < segments.size(); ++i) {
    const std::string attribute = "engine_" + std::to_string(i);
    const auto engine = c10::make_intrusive<core::runtime::Engine>(models[i]);
    lowered.module.register_attribute(attribute, c10::getCustomClassType<c10::intrusive_ptr<core::runtime::Engine>>(),
                                      engine);
    insert_engine(lowered, segments[i], attribute, first_converted(segments[i]));
  }
  torch::jit::EliminateDeadCode(lowered.graph);
  log(Level::kInfo, segments.size(),
      " engines; on libtorch:", joined(core::partition::left_over(*lowered.graph, options)));
  return lowered.module;
}

std::string export_engine(const torch::jit::Module& module, const std::string& method_name, const CompileSpec& spec) {
  CompileOptions options = spec;
  check(options);
  options.min_block_size = 1;
  const Lowered lowered = core::lowering::lower(module, method_name);
  expect_whole(*lowered.graph, options);
  const std::vector<Segment> segments = core::partition::segments_of(*lowered.graph, options);
  TORCH_CHECK_VALUE(segments.size() == 1, "the graph makes ", segments.size(), " engines, only one can be exported");
  return models_of(segments, lowered, options).front();
}

}  // namespace torchscript
}  // namespace torch_aie
