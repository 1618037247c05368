// passes/prepack_recurrent.cpp: LSTM by oneDNN, with weights in its blocked layouts; both directions at once.
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/mkldnn_rnn_layer.h>
#include <ATen/ops/stack.h>

#include <memory>
#include <utility>

#include "operations/recurrent.h"
#include "passes/graph.h"
#include "passes/onednn.h"
#include "passes/passes.h"

namespace AscendIE {

namespace {

using at::Tensor;

constexpr int64_t kLstmMode = 2;  // of at::mkldnn_rnn_layer
// More threads than this do one direction after the other: then each has enough for all of them.
constexpr int kThreadsForDirections = 4;

std::pair<Tensor, Tensor> packed(const Tensor& in, const Tensor& hidden, bool reverse, at::IntArrayRef sequence) {
  static const auto reorder =
      onednn_operator<Tensors(Tensor, Tensor, int64_t, bool, bool, bool, at::OptionalIntArrayRef)>(
          "mkldnn::_reorder_mkldnn_rnn_layer_weight");
  Tensors both =
      reorder.call(in, hidden, hidden.size(1), reverse, /*has_biases=*/true, /*batch_first=*/false, sequence);
  return {std::move(both.at(0)), std::move(both.at(1))};
}

/// One direction of one layer: numbers of its weights among the values.
struct Direction {
  uint32_t in = 0, hidden = 0, in_bias = 0, hidden_bias = 0;
};

struct PreparedRecurrent {
  Recurrent recurrent;
  int64_t hidden = 0;
  uint32_t x = 0, h = 0, c = 0;
  std::vector<uint32_t> outputs;
  std::vector<Direction> directions;  // layer by layer
};

struct Result {
  Tensor y, h, c;
};

Result run_direction(const PreparedRecurrent& p, size_t number, const Tensor& x, const Tensors& values) {
  const Direction& d = p.directions[number];
  const auto index = static_cast<int64_t>(number);
  const bool reverse = p.recurrent.directions == 2 && number % 2 == 1;
  auto [y, h, c, workspace] = at::mkldnn_rnn_layer(
      x, values[d.in], values[d.hidden], values[d.in_bias], values[d.hidden_bias], values[p.h].select(0, index),
      values[p.c].select(0, index), reverse, /*batch_sizes=*/{}, kLstmMode, p.hidden, /*num_layers=*/1,
      /*has_biases=*/true, /*bidirectional=*/false, /*batch_first=*/false, /*train=*/false);
  const std::vector<int64_t> state{x.size(1), p.hidden};
  return {y, h.reshape(state), c.reshape(state)};
}

/// All directions of a layer. They do not need each other: with few threads each gets one of them.
Tensor run_layer(const PreparedRecurrent& p, size_t layer, const Tensor& x, const Tensors& values,
                 std::vector<Result>& results) {
  const auto directions = static_cast<size_t>(p.recurrent.directions);
  const size_t first = layer * directions;
  const int threads = at::get_num_threads();
  if (directions == 2 && threads > 1 && threads <= kThreadsForDirections) {
    at::parallel_for(0, 2, 1, [&](int64_t begin, int64_t end) {
      const at::AutoDispatchBelowAutograd no_gradients;
      for (int64_t i = begin; i < end; ++i) results[first + i] = run_direction(p, first + i, x, values);
    });
  } else {
    for (size_t i = 0; i < directions; ++i) results[first + i] = run_direction(p, first + i, x, values);
  }
  return directions == 1 ? results[first].y : at::cat({results[first].y, results[first + 1].y}, -1);
}

void run_recurrent(const PreparedRecurrent& p, Tensors& values) {
  Tensor x = values[p.x];
  if (p.recurrent.batch_first) x = x.transpose(0, 1);
  std::vector<Result> results(p.directions.size());
  for (size_t layer = 0; layer < static_cast<size_t>(p.recurrent.layers); ++layer) {
    x = run_layer(p, layer, x.contiguous(), values, results);
  }
  Tensors h, c;
  for (Result& result : results) {
    h.push_back(std::move(result.h));
    c.push_back(std::move(result.c));
  }
  values[p.outputs.at(0)] = p.recurrent.batch_first ? x.transpose(0, 1) : x;
  values[p.outputs.at(1)] = at::stack(h);
  values[p.outputs.at(2)] = at::stack(c);
}

class RecurrentPacker {
 public:
  explicit RecurrentPacker(Program& program) : program_(program), graph_(program) {}

  void run() {
    for (Step& step : program_.steps) {
      if (can_pack(step)) pack(step);
    }
    remove_unused(program_);
  }

 private:
  bool can_pack(const Step& step) const {
    if (!is(step, "Recurrent") || step.kernel || step.outputs.size() != 3) return false;
    if (!attribute_is(step, "kind", static_cast<int64_t>(RecurrentKind::kLstm))) return false;
    if (!attribute_is(step, "biases", 1, /*absent=*/1)) return false;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (program_.types[step.inputs[i]].type != at::kFloat) return false;
      if (i >= 3 && !graph_.constant(step.inputs[i]).defined()) return false;
    }
    // Blocked layouts are made for sizes.
    const std::vector<int64_t>& shape = program_.types[step.inputs[0]].shape;
    const bool known = std::all_of(shape.begin(), shape.end(), [](int64_t size) { return size > 0; });
    return shape.size() == 3 && known && has_states(step, shape);
  }

  /// oneDNN does not look at the sizes of states. What does not fit is left to ATen, which says why.
  bool has_states(const Step& step, const std::vector<int64_t>& x) const {
    const Tensors inputs(step.inputs.size());
    const Recurrent r = recurrent_of(Call(inputs, step.attributes, {}));
    const Tensor hidden = plain_weight(graph_.constant(step.inputs[r.weights + 1]));
    const std::vector<int64_t> state{r.layers * r.directions, x[r.batch_first ? 0 : 1], hidden.size(-1)};
    return program_.types[step.inputs[1]].shape == state && program_.types[step.inputs[2]].shape == state;
  }

  void pack(Step& step) {
    Tensors inputs(step.inputs.size());
    for (size_t i = 3; i < inputs.size(); ++i) inputs[i] = graph_.constant(step.inputs[i]);
    auto prepared = std::make_shared<PreparedRecurrent>();
    prepared->recurrent = recurrent_of(Call(inputs, step.attributes, {}));
    const Recurrent& r = prepared->recurrent;
    prepared->x = step.inputs[0];
    prepared->h = step.inputs[1];
    prepared->c = step.inputs[2];
    prepared->outputs = step.outputs;
    std::vector<int64_t> sequence = program_.types[step.inputs[0]].shape;
    if (r.batch_first) std::swap(sequence[0], sequence[1]);
    for (size_t i = r.weights; i < inputs.size(); i += r.weights_per_direction()) {
      const Tensor in = plain_weight(inputs[i]), hidden = plain_weight(inputs[i + 1]);
      prepared->hidden = hidden.size(1);
      sequence.back() = in.size(1);
      const bool reverse = r.directions == 2 && prepared->directions.size() % 2 == 1;
      auto [packed_in, packed_hidden] = packed(in, hidden, reverse, sequence);
      step.inputs[i] = add_constant(program_, std::move(packed_in));
      step.inputs[i + 1] = add_constant(program_, std::move(packed_hidden));
      prepared->directions.push_back({step.inputs[i], step.inputs[i + 1], step.inputs[i + 2], step.inputs[i + 3]});
    }
    step.kernel = [prepared](Tensors& values) { run_recurrent(*prepared, values); };
  }

  Program& program_;
  Graph graph_;
};

}  // namespace

void prepack_recurrent(Program& program) {
  if (can_use_onednn(program)) RecurrentPacker(program).run();
}

}  // namespace AscendIE
