// operations/recurrent.cpp: recurrent layers and cells.
#include "operations/recurrent.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/gru.h>
#include <ATen/ops/gru_cell.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/lstm_cell.h>
#include <ATen/ops/rnn_relu.h>
#include <ATen/ops/rnn_tanh.h>
#include <c10/util/Exception.h>

#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

Tensors result_shapes(const Call& c, const Recurrent& r) {
  std::vector<int64_t> shape = c[0].sizes().vec();
  shape.back() = r.directions * c[1].size(-1);
  Tensors results{at::empty(shape, c[0].options()), c[1]};
  if (r.kind == RecurrentKind::kLstm) results.push_back(c[2]);
  return results;
}

void check(const Call& c, const Recurrent& r) {
  TORCH_CHECK_VALUE(c[0].dim() == 3, "the sequence has rank ", c[0].dim(), ", allowed is 3");
  TORCH_CHECK_VALUE(c[1].dim() == 3 && c[1].size(0) == r.layers * r.directions, "the hidden state has shape ",
                    c[1].sizes(), ", its first dimension has to be ", r.layers * r.directions);
  TORCH_CHECK_VALUE(c[1].size(1) == c[0].size(r.batch_first ? 0 : 1), "the hidden state has batch size ", c[1].size(1),
                    ", the sequence ", c[0].size(r.batch_first ? 0 : 1));
  const Tensor weight = plain_weight(c[r.weights]);
  TORCH_CHECK_VALUE(weight.dim() == 2 && weight.size(1) == c[0].size(2), "the first weight has shape ", weight.sizes(),
                    " for a sequence of ", c[0].sizes());
}

Tensors run_recurrent(const Call& c) {
  const Recurrent r = recurrent_of(c);
  check(c, r);
  if (c[0].is_meta()) return result_shapes(c, r);
  Tensors weights(c.operands().begin() + static_cast<std::ptrdiff_t>(r.weights), c.operands().end());
  for (Tensor& weight : weights) weight = plain_weight(weight);
  const bool two = r.directions == 2;
  const auto run = [&](auto function) -> Tensors {
    auto [y, h] = function(c[0], c[1], weights, r.biases, r.layers, 0.0, false, two, r.batch_first);
    return {y, h};
  };
  using Function = std::tuple<Tensor, Tensor> (*)(const Tensor&, const Tensor&, at::TensorList, bool, int64_t, double,
                                                  bool, bool, bool);
  switch (r.kind) {
    case RecurrentKind::kGru:
      return run(static_cast<Function>(at::gru));
    case RecurrentKind::kTanh:
      return run(static_cast<Function>(at::rnn_tanh));
    case RecurrentKind::kRelu:
      return run(static_cast<Function>(at::rnn_relu));
    case RecurrentKind::kLstm:
      break;
  }
  auto [y, h, cell] = at::lstm(c[0], {c[1], c[2]}, weights, r.biases, r.layers, 0.0, false, two, r.batch_first);
  return {y, h, cell};
}

/// An operand that may be missing at the end.
std::optional<Tensor> at_end(const Call& c, size_t i) {
  return i < c.operands().size() ? std::optional<Tensor>(c[i]) : std::nullopt;
}

const Operation kRecurrentOperations[] = {
    // Inputs: x, hidden state, (cell state,) two weights, perhaps two biases.
    {"GruCell", 4,
     [](const Call& c) -> Tensors { return {at::gru_cell(c[0], c[1], c[2], c[3], at_end(c, 4), at_end(c, 5))}; }},
    {"LstmCell", 5,
     [](const Call& c) -> Tensors {
       auto [h, cell] = at::lstm_cell(c[0], {c[1], c[2]}, c[3], c[4], at_end(c, 5), at_end(c, 6));
       return {h, cell};
     }},
    {"Recurrent", 4, run_recurrent},
};

}  // namespace

Recurrent recurrent_of(const Call& call) {
  Recurrent r;
  r.kind = call.kind<RecurrentKind>("kind");
  TORCH_CHECK_VALUE(r.kind >= RecurrentKind::kLstm && r.kind <= RecurrentKind::kRelu, "kind ", call.integer("kind"),
                    " of recurrent layers is none of 0 to 3");
  r.layers = call.integer("layers", 1);
  r.directions = call.integer("bidirectional") != 0 ? 2 : 1;
  r.batch_first = call.integer("batch_first") != 0;
  r.biases = call.integer("biases", 1) != 0;
  r.weights = r.kind == RecurrentKind::kLstm ? 3 : 2;
  const size_t weights = static_cast<size_t>(r.layers * r.directions) * r.weights_per_direction();
  TORCH_CHECK_VALUE(r.layers > 0 && call.operands().size() == r.weights + weights, "got ",
                    call.operands().size() - r.weights, " weights, ", r.layers, " layers in ", r.directions,
                    " directions have ", weights, " (projections are not supported)");
  return r;
}

at::Tensor plain_weight(const at::Tensor& weight) {
  // oneDNN's order: (1, 1, in, gates, hidden).
  return weight.dim() == 5 ? weight.reshape({weight.size(2), -1}).t().contiguous() : weight;
}

Table recurrent() { return kRecurrentOperations; }

}  // namespace AscendIE
