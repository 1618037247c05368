// passes/fuse_convolutions.cpp: a sum with another value, and a function of single elements, become part of the
// convolution before them.
#include <optional>

#include "operations/convolutions.h"
#include "passes/graph.h"
#include "passes/passes.h"

namespace AscendIE {

namespace {

struct Function {
  const char* name;
  double a = 0, b = 0;
};

std::optional<Function> function_of(const Step& step) {
  const Tensors none;
  const Call call(none, step.attributes, {});
  if (is(step, "Clip")) return Function{"hardtanh", call.real("low"), call.real("high")};
  if (is(step, "HardSwish")) return Function{"hardswish"};
  if (!is(step, "Activation")) return {};
  switch (call.kind<ActivationKind>("kind")) {
    case ActivationKind::RELU:
      return Function{"relu"};
    case ActivationKind::SIGMOID:
      return Function{"sigmoid"};
    case ActivationKind::LEAKY_RELU:
      return Function{"leaky_relu", call.real("alpha", 0.01)};
    case ActivationKind::HARD_SIGMOID:
      if (call.has("alpha") || call.has("beta")) return {};
      return Function{"hardsigmoid"};
    case ActivationKind::TANH:
      return Function{"tanh"};
    case ActivationKind::SWISH:
      return Function{"swish"};
    case ActivationKind::GELU:
      return Function{call.integer("tanh") != 0 ? "gelu_tanh" : "gelu"};
    case ActivationKind::RELU6:
      return Function{"hardtanh", 0, 6};
    default:
      return {};
  }
}

class ConvolutionFuser {
 public:
  explicit ConvolutionFuser(Program& program) : program_(program), graph_(program) {}

  void run() {
    for (Step& step : program_.steps) {
      if (fuse_sum(step) || fuse_function(step)) graph_.update();
    }
  }

 private:
  /// A convolution whose result is this value and nobody else's, and that nothing follows yet.
  Step* convolution_of(uint32_t value, bool with_residual) const {
    Step* const step = graph_.fusible(value, "Convolution");
    if (!step || step->attributes.count("then")) return nullptr;
    return with_residual || attribute_is(*step, "residual", 0) ? step : nullptr;
  }

  bool fuse_sum(Step& step) {
    if (!is_element_wise(step, ElementWiseOperation::ADD) || step.inputs[0] == step.inputs[1]) return false;
    const ValueType& type = program_.types[step.outputs[0]];
    // The later of two convolutions: the earlier one's result is there in any case.
    for (const size_t side : {1, 0}) {
      const uint32_t residual = step.inputs[1 - side];
      const ValueType& other = program_.types[residual];
      const Step* const before = convolution_of(step.inputs[side], /*with_residual=*/false);
      if (!before || attribute_is(*before, "transposed", 1)) continue;
      if (!is_fixed(type.shape) || other.shape != type.shape || other.type != type.type ||
          graph_.constant(residual).defined())
        continue;
      become(step, *before);
      step.attributes["residual"] = int64_t{1};
      step.inputs.push_back(residual);
      return true;
    }
    return false;
  }

  bool fuse_function(Step& step) {
    const std::optional<Function> function = function_of(step);
    if (!function) return false;
    const Step* const before = convolution_of(step.inputs[0], /*with_residual=*/true);
    if (!before) return false;
    become(step, *before);
    step.attributes["then"] = std::string(function->name);
    step.attributes["then_a"] = function->a;
    step.attributes["then_b"] = function->b;
    return true;
  }

  Program& program_;
  Graph graph_;
};

}  // namespace

void fuse_convolutions(Program& program) { ConvolutionFuser(program).run(); }

}  // namespace AscendIE
