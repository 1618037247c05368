// program.cpp: from a network to steps, without the layers that no output needs.
#include "program.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "impl.h"
#include "profiles.h"

namespace AscendIE {

namespace {

class Numbers {
 public:
  explicit Numbers(Program& program) : program_(program) {}
  uint32_t operator()(const Tensor* tensor) {
    const auto [found, added] = numbers_.try_emplace(tensor, program_.values);
    if (added) {
      const TensorImpl& impl = TensorImpl::of(*tensor);
      program_.types.push_back({impl.meta.scalar_type(), impl.shape()});
      ++program_.values;
    }
    return found->second;
  }

 private:
  Program& program_;
  std::map<const Tensor*, uint32_t> numbers_;
};

Binding binding(const Tensor& tensor, uint32_t value) {
  const TensorImpl& impl = TensorImpl::of(tensor);
  TORCH_CHECK_VALUE(impl.meta.defined(), "tensor ", in_quotes(impl.name), " has no type");
  const bool asked = impl.asked != DataType::UNKNOWN;
  return {value, impl.name, asked ? scalar_type(impl.asked) : impl.meta.scalar_type(), impl.shape(),
          ranges_of(impl.profiles)};
}

/// SetType converts what comes in and what goes out, nothing between.
void expect_own_type(const LayerImpl& layer) {
  for (const Tensor& output : layer.outputs) {
    const TensorImpl& impl = TensorImpl::of(output);
    TORCH_CHECK_TYPE(
        impl.output || impl.asked == DataType::UNKNOWN || scalar_type(impl.asked) == impl.meta.scalar_type(), "layer ",
        in_quotes(layer.name), ": SetType cannot change the type of a tensor inside the network: add a cast");
  }
}

/// The layers that outputs need, each after those that it needs itself: SetInput may name a layer that was added later.
class Needed {
 public:
  explicit Needed(const NetworkImpl& network) {
    for (const auto& layer : network.layers) {
      const LayerImpl& impl = LayerImpl::of(*layer);
      for (const Tensor& output : impl.outputs) makers_[&output] = &impl;
    }
    for (const Tensor* output : network.outputs) visit(output);
    // Again, in the order in which they were added, where that is possible.
    const std::set<const LayerImpl*> needed = std::exchange(done_, {});
    layers.clear();
    for (const auto& layer : network.layers) {
      const LayerImpl& impl = LayerImpl::of(*layer);
      if (needed.count(&impl)) visit(&impl.outputs.front());
    }
  }

  std::vector<const LayerImpl*> layers;

 private:
  struct Visit {
    const LayerImpl* layer;
    size_t next = 0;  // the input to look at
  };

  void enter(const Tensor* tensor) {
    const auto maker = makers_.find(tensor);
    if (maker == makers_.end() || done_.count(maker->second)) return;
    TORCH_CHECK_VALUE(open_.insert(maker->second).second, "layer ", in_quotes(maker->second->name),
                      " needs its own output");
    path_.push_back({maker->second});
  }

  void visit(const Tensor* tensor) {
    enter(tensor);
    while (!path_.empty()) {
      Visit& top = path_.back();
      if (top.next < top.layer->inputs.size()) {
        enter(top.layer->inputs[top.next++]);
        continue;
      }
      layers.push_back(top.layer);
      done_.insert(top.layer);
      open_.erase(top.layer);
      path_.pop_back();
    }
  }

  std::map<const Tensor*, const LayerImpl*> makers_;
  std::set<const LayerImpl*> done_;
  std::set<const LayerImpl*> open_;
  std::vector<Visit> path_;
};

}  // namespace

bool is_fixed(at::IntArrayRef shape) {
  return std::all_of(shape.begin(), shape.end(), [](int64_t size) { return size >= 0; });
}

at::ScalarType Program::compute() const {
  return flag == BuilderFlag::FP16 || flag == BuilderFlag::MIX_FP16 ? at::kHalf : at::kFloat;
}

bool Program::constant(uint32_t value) const {
  return std::any_of(constants.begin(), constants.end(), [&](const auto& row) { return row.first == value; });
}

Program program_of(const Network& network, BuilderFlag flag) {
  const NetworkImpl& impl = NetworkImpl::of(network);
  TORCH_CHECK_VALUE(!impl.outputs.empty(), "the network has no output: call SetAsOutput");
  TORCH_CHECK_VALUE(flag != BuilderFlag::QINT8, "BuilderFlag QINT8 is not supported, allowed are FP16, FP32, ",
                    "MIX_FP32_WITH_FP16, MIX_FP16");
  Program program;
  Numbers number(program);
  program.flag = flag;
  for (const Tensor* input : impl.inputs) program.inputs.push_back(binding(*input, number(input)));
  for (const LayerImpl* const layer : Needed(impl).layers) {
    const LayerImpl& from = *layer;
    expect_own_type(from);
    if (!from.operation) {
      const Tensor& output = from.outputs.front();
      program.constants.emplace_back(number(&output), TensorImpl::of(output).constant);
      continue;
    }
    Step step{from.operation, from.name, from.attributes, {}, {}};
    for (const Tensor* input : from.inputs) step.inputs.push_back(number(input));
    for (const Tensor& output : from.outputs) {
      if (TensorImpl::of(output).meta.defined()) step.outputs.push_back(number(&output));
    }
    program.steps.push_back(std::move(step));
  }
  for (const Tensor* output : impl.outputs) program.outputs.push_back(binding(*output, number(output)));
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    std::string& name = program.outputs[i].name;
    if (name.empty()) name = "output_" + std::to_string(i);
  }
  return program;
}

void find_last_uses(Program& program) {
  std::set<uint32_t> used;
  for (const Binding& output : program.outputs) used.insert(output.value);
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
    step->last_used.clear();
    for (const auto* values : {&step->inputs, &step->outputs}) {
      for (const uint32_t value : *values) {
        if (used.insert(value).second) step->last_used.push_back(value);
      }
    }
  }
}

}  // namespace AscendIE
