// passes/graph.cpp
#include "passes/graph.h"

#include <algorithm>
#include <set>

namespace AscendIE {

Graph::Graph(Program& program) : program_(program) { update(); }

void Graph::update() {
  producers_.assign(program_.values, nullptr);
  users_.assign(program_.values, {});
  outputs_.assign(program_.values, false);
  constants_.clear();
  for (Step& step : program_.steps) {
    for (const uint32_t value : step.outputs) producers_[value] = &step;
    for (const uint32_t value : step.inputs) users_[value].push_back(&step);
  }
  for (const Binding& output : program_.outputs) outputs_[output.value] = true;
  for (const auto& [value, tensor] : program_.constants) constants_[value] = tensor;
}

at::Tensor Graph::constant(uint32_t value) const {
  const auto found = constants_.find(value);
  return found == constants_.end() ? at::Tensor() : found->second;
}

Step* Graph::fusible(uint32_t value, std::string_view operation) const {
  Step* const step = producers_[value];
  return step && is(*step, operation) && step->outputs.size() == 1 && used_once(value) ? step : nullptr;
}

uint32_t add_value(Program& program, ValueType type) {
  program.types.push_back(std::move(type));
  return program.values++;
}

uint32_t add_constant(Program& program, at::Tensor tensor) {
  const uint32_t value = add_value(program, {tensor.scalar_type(), tensor.sizes().vec()});
  program.constants.emplace_back(value, std::move(tensor));
  return value;
}

void replace_value(Program& program, uint32_t from, uint32_t to) {
  for (Step& step : program.steps) std::replace(step.inputs.begin(), step.inputs.end(), from, to);
  for (Binding& output : program.outputs) {
    if (output.value == from) output.value = to;
  }
}

void remove_unused(Program& program) {
  std::set<uint32_t> wanted;
  for (const Binding& output : program.outputs) wanted.insert(output.value);
  std::vector<Step> kept;
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
    const auto is_wanted = [&](uint32_t value) { return wanted.count(value) > 0; };
    if (std::none_of(step->outputs.begin(), step->outputs.end(), is_wanted)) continue;
    wanted.insert(step->inputs.begin(), step->inputs.end());
    kept.push_back(std::move(*step));
  }
  std::reverse(kept.begin(), kept.end());
  program.steps = std::move(kept);
  std::erase_if(program.constants, [&](const auto& constant) { return wanted.count(constant.first) == 0; });
}

void become(Step& step, const Step& other) {
  step.operation = other.operation;
  step.attributes = other.attributes;
  step.inputs = other.inputs;
}

bool is(const Step& step, std::string_view operation) { return step.operation->name == operation; }

bool is_element_wise(const Step& step, ElementWiseOperation kind) {
  return is(step, "ElementWise") && attribute_is(step, "kind", static_cast<int64_t>(kind));
}

bool attribute_is(const Step& step, std::string_view name, int64_t value, int64_t absent) {
  const auto found = step.attributes.find(name);
  return (found == step.attributes.end() ? absent : std::get<int64_t>(found->second)) == value;
}

}  // namespace AscendIE
