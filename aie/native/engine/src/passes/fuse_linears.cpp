// passes/fuse_linears.cpp: a product with a constant matrix takes in the bias, and then the sum with a residual or the
// activation that follows it.
#include "passes/graph.h"
#include "passes/passes.h"

namespace AscendIE {

namespace {

// Activations that oneDNN's product computes on its results at no cost.
constexpr ActivationKind kActivations[] = {ActivationKind::RELU, ActivationKind::SIGMOID, ActivationKind::TANH,
                                           ActivationKind::SWISH, ActivationKind::GELU};

bool fuses(const Step& activation) {
  return std::any_of(std::begin(kActivations), std::end(kActivations),
                     [&](ActivationKind kind) { return attribute_is(activation, "kind", static_cast<int64_t>(kind)); });
}

class LinearFuser {
 public:
  explicit LinearFuser(Program& program) : program_(program), graph_(program) {}

  void run() {
    for (Step& step : program_.steps) {
      if (is(step, "MatrixMultiply")) {
        start(step);
      } else if (is_element_wise(step, ElementWiseOperation::ADD) && (fuse_sum(step, 0) || fuse_sum(step, 1))) {
        graph_.update();
      } else if (is(step, "Activation") && fuse_activation(step)) {
        graph_.update();
      }
    }
  }

 private:
  void start(Step& step) const {
    const at::Tensor weight = graph_.constant(step.inputs[1]);
    const bool vectors = program_.types[step.inputs[0]].shape.size() < 2;
    if (!weight.defined() || weight.dim() != 2 || vectors || !attribute_is(step, "a", 0)) return;
    step.operation = find_operation("Linear");
    step.attributes.erase("a");
  }

  /// A product that only this value's reader needs, without residual and activation.
  Step* open_linear(uint32_t value) const {
    Step* const step = graph_.fusible(value, "Linear");
    const bool open = step && attribute_is(*step, "residual", 0) && !step->attributes.count("activation");
    return open ? step : nullptr;
  }

  bool is_bias(uint32_t value, int64_t size) const {
    const at::Tensor bias = graph_.constant(value);
    return bias.defined() && bias.dim() == 1 && bias.size(0) == size;
  }

  bool fuse_sum(Step& step, size_t side) {
    const Step* const linear = open_linear(step.inputs[side]);
    const uint32_t other = step.inputs[1 - side];
    if (!linear || other == step.inputs[side]) return false;
    const ValueType result = program_.types[step.inputs[side]];
    const ValueType& added = program_.types[other];
    const char* part = nullptr;
    if (attribute_is(*linear, "bias", 0) && is_bias(other, result.shape.back())) {
      part = "bias";
    } else if (added.shape == result.shape && added.type == result.type && !graph_.constant(other).defined() &&
               is_fixed(added.shape)) {
      part = "residual";
    } else {
      return false;
    }
    become(step, *linear);
    step.inputs.push_back(other);
    step.attributes[part] = int64_t{1};
    return true;
  }

  bool fuse_activation(Step& step) {
    const Step* const linear = open_linear(step.inputs[0]);
    if (!linear || !fuses(step)) return false;
    const Attributes activation = step.attributes;
    become(step, *linear);
    step.attributes["activation"] = activation.at("kind");
    if (activation.count("tanh")) step.attributes["tanh"] = activation.at("tanh");
    return true;
  }

  Program& program_;
  Graph graph_;
};

}  // namespace

void fuse_linears(Program& program) { LinearFuser(program).run(); }

}  // namespace AscendIE
