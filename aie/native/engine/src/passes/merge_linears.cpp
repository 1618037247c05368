// passes/merge_linears.cpp: products of one value with several matrices (queries, keys, values) become one product.
#include <ATen/ops/cat.h>

#include <map>
#include <utility>

#include "passes/graph.h"
#include "passes/passes.h"

namespace AscendIE {

namespace {

using Group = std::vector<Step*>;

class Merger {
 public:
  explicit Merger(Program& program) : program_(program), graph_(program) {}

  void run() {
    std::map<std::pair<uint32_t, Attributes>, Group> groups;
    for (Step& step : program_.steps) {
      if (can_merge(step)) groups[{step.inputs[0], step.attributes}].push_back(&step);
    }
    std::map<const Step*, Step> splits;  // each after the step
    for (const auto& [key, group] : groups) {
      if (group.size() > 1) splits.emplace(group.front(), merge(group));
    }
    if (splits.empty()) return;
    std::vector<Step> steps;
    for (Step& step : program_.steps) {
      const auto split = splits.find(&step);
      if (!step.outputs.empty()) steps.push_back(std::move(step));
      if (split != splits.end()) steps.push_back(std::move(split->second));
    }
    program_.steps = std::move(steps);
  }

 private:
  /// Readers take a part of the merged result as well as a tensor of its own: they only give it another shape.
  bool can_merge(const Step& step) const {
    if (!is(step, "Linear") || !attribute_is(step, "residual", 0) || step.attributes.count("activation") ||
        graph_.output(step.outputs[0])) {
      return false;
    }
    for (size_t i = 1; i < step.inputs.size(); ++i) {
      if (!graph_.used_once(step.inputs[i]) || !graph_.constant(step.inputs[i]).defined()) return false;
    }
    const auto& users = graph_.users(step.outputs[0]);
    return !users.empty() &&
           std::all_of(users.begin(), users.end(), [](const Step* user) { return is(*user, "Shuffle"); });
  }

  uint32_t joined(const Group& group, size_t input, int64_t axis) {
    Tensors parts;
    for (const Step* step : group) parts.push_back(graph_.constant(step->inputs[input]));
    return add_constant(program_, at::cat(parts, axis));
  }

  /// The first step becomes the product, the others lose their outputs; the returned step makes these.
  Step merge(const Group& group) {
    Step& product = *group.front();
    const bool columns = attribute_is(product, "b", static_cast<int64_t>(MatrixOperation::NONE));
    std::vector<int64_t> sizes;
    std::vector<uint32_t> outputs;
    for (Step* step : group) {
      sizes.push_back(program_.types[step->outputs[0]].shape.back());
      outputs.push_back(step->outputs[0]);
      step->outputs.clear();
    }
    ValueType type = program_.types[outputs[0]];
    type.shape.back() = 0;
    for (const int64_t size : sizes) type.shape.back() += size;
    product.outputs = {add_value(program_, std::move(type))};
    std::vector<uint32_t> inputs{product.inputs[0], joined(group, 1, columns ? 1 : 0)};
    if (product.inputs.size() > 2) inputs.push_back(joined(group, 2, 0));
    product.inputs = std::move(inputs);
    Step split;
    split.operation = find_operation("SplitSizes");
    split.name = product.name;
    split.attributes = {{"split_sizes", sizes}, {"dim", int64_t{-1}}};
    split.inputs = product.outputs;
    split.outputs = std::move(outputs);
    return split;
  }

  Program& program_;
  Graph graph_;
};

}  // namespace

void merge_linears(Program& program) { Merger(program).run(); }

}  // namespace AscendIE
