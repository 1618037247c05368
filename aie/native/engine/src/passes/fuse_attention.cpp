// passes/fuse_attention.cpp: product, scale, mask, softmax and product become one step, which keeps no scores.
#include <optional>

#include "passes/graph.h"
#include "passes/passes.h"

namespace AscendIE {

namespace {

bool transposes(const Step& product, std::string_view side) {
  return attribute_is(product, side, static_cast<int64_t>(MatrixOperation::TRANSPOSE));
}

/// Whether a shuffle exchanges the last two dimensions and does nothing else.
bool exchanges_last(const Step& shuffle) {
  if (shuffle.attributes.size() != 1 || shuffle.inputs.size() != 1) return false;
  const auto found = shuffle.attributes.find("first_transpose");
  if (found == shuffle.attributes.end()) return false;
  const auto& order = std::get<std::vector<int64_t>>(found->second);
  const auto rank = static_cast<int64_t>(order.size());
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t from = i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i;
    if (order[i] != from) return false;
  }
  return true;
}

struct Scores {
  uint32_t queries = 0, keys = 0;
  std::optional<uint32_t> mask;
  double factor = 1;
};

class AttentionFuser {
 public:
  explicit AttentionFuser(Program& program) : program_(program), graph_(program) {}

  void run() {
    for (Step& step : program_.steps) {
      if (fuse(step)) graph_.update();
    }
  }

 private:
  size_t rank(uint32_t value) const { return program_.types[value].shape.size(); }

  bool fuse(Step& step) {
    if (!is(step, "MatrixMultiply") || !attribute_is(step, "a", 0) || !attribute_is(step, "b", 0)) return false;
    const Step* const softmax = graph_.fusible(step.inputs[0], "SoftMax");
    const size_t dimensions = rank(step.inputs[0]);
    // at::scaled_dot_product_attention has a fast kernel for batches of heads.
    if (!softmax || (dimensions != 3 && dimensions != 4) || rank(step.inputs[1]) != dimensions) return false;
    if (!attribute_is(*softmax, "axes", int64_t{1} << (dimensions - 1))) return false;
    const std::optional<Scores> scores = scores_of(softmax->inputs[0], dimensions);
    if (!scores) return false;
    step.operation = find_operation("Attention");
    step.attributes = {{"factor", scores->factor}};
    step.inputs = {scores->queries, scores->keys, step.inputs[1]};
    if (scores->mask) step.inputs.push_back(*scores->mask);
    return true;
  }

  std::optional<Scores> scores_of(uint32_t value, size_t dimensions) const {
    Scores scores;
    take_mask(value, scores);
    take_factor(value, scores.factor);
    const Step* const product = graph_.fusible(value, "MatrixMultiply");
    if (!product || transposes(*product, "a")) return {};
    scores.queries = product->inputs[0];
    scores.keys = product->inputs[1];
    if (!transposes(*product, "b")) {
      take_factor(scores.keys, scores.factor);
      const Step* const shuffle = graph_.producer(scores.keys);
      if (!shuffle || !is(*shuffle, "Shuffle") || !exchanges_last(*shuffle)) return {};
      scores.keys = shuffle->inputs[0];
    }
    take_factor(scores.queries, scores.factor);
    take_factor(scores.keys, scores.factor);
    if (rank(scores.queries) != dimensions || rank(scores.keys) != dimensions) return {};
    return scores;
  }

  /// If the value is a sum of scores and a mask, it becomes the scores.
  void take_mask(uint32_t& value, Scores& scores) const {
    const Step* const sum = graph_.fusible(value, "ElementWise");
    if (!sum || !is_element_wise(*sum, ElementWiseOperation::ADD)) return;
    for (const size_t side : {0, 1}) {
      const uint32_t mask = sum->inputs[1 - side];
      const size_t dimensions = rank(mask);
      const bool fits = dimensions == 2 || dimensions == rank(value);
      uint32_t inner = sum->inputs[side];
      double factor = 1;
      take_factor(inner, factor);
      if (!fits || !graph_.fusible(inner, "MatrixMultiply") ||
          program_.types[mask].type != program_.types[value].type) {
        continue;
      }
      value = sum->inputs[side];
      scores.mask = mask;
      return;
    }
  }

  /// If the value is another one times or divided by a number, it becomes that one.
  void take_factor(uint32_t& value, double& factor) const {
    const Step* const step = graph_.fusible(value, "ElementWise");
    if (!step) return;
    const bool product = is_element_wise(*step, ElementWiseOperation::MUL);
    if (!product && !is_element_wise(*step, ElementWiseOperation::DIV)) return;
    for (const size_t side : product ? std::vector<size_t>{0, 1} : std::vector<size_t>{0}) {
      const at::Tensor number = graph_.constant(step->inputs[1 - side]);
      if (!number.defined() || number.dim() != 0) continue;
      const double by = number.item().toDouble();
      factor *= product ? by : 1 / by;
      value = step->inputs[side];
      return;
    }
  }

  Program& program_;
  Graph graph_;
};

}  // namespace

void fuse_attention(Program& program) { AttentionFuser(program).run(); }

}  // namespace AscendIE
