// native/opapi/ops/rnn/rnn.cpp
// The fused LSTM cell. Gates stand in the order input, forget, cell, output, each `hidden` wide; the storage that the
// gradient needs holds the activated gates in the same order.
#include "opapi/opapi.h"

namespace {

void lstm_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates, const at::Tensor& cx,
               const std::optional<at::Tensor>& input_bias, const std::optional<at::Tensor>& hidden_bias,
               at::Tensor& hy, at::Tensor& cy, at::Tensor& storage) {
  at::Tensor gates = at::add(input_gates, hidden_gates);
  if (input_bias) gates.add_(*input_bias);
  if (hidden_bias) gates.add_(*hidden_bias);
  const std::vector<at::Tensor> parts = gates.chunk(4, 1);
  parts[0].sigmoid_();
  parts[1].sigmoid_();
  parts[2].tanh_();
  parts[3].sigmoid_();
  const at::Tensor cell = at::addcmul(at::mul(parts[1], cx), parts[0], parts[2]);
  assign(hy, at::mul(parts[3], at::tanh(cell)));
  assign(cy, cell);
  assign(storage, gates);
}

void lstm_cell_backward(const std::optional<at::Tensor>& grad_hy, const std::optional<at::Tensor>& grad_cy,
                        const at::Tensor& cx, const at::Tensor& cy, const at::Tensor& storage, bool has_bias,
                        at::Tensor& grad_gates, at::Tensor& grad_cx, at::Tensor& grad_bias) {
  const std::vector<at::Tensor> gates = storage.chunk(4, 1);
  const at::Tensor &in = gates[0], &forget = gates[1], &candidate = gates[2], &output = gates[3];
  const at::Tensor squashed = at::tanh(cy);
  at::Tensor by_cell = grad_cy ? grad_cy->clone() : at::zeros_like(cy);
  at::Tensor by_output = at::zeros_like(cy);
  if (grad_hy) {
    by_cell.add_(at::tanh_backward(at::mul(*grad_hy, output), squashed));
    by_output = at::sigmoid_backward(at::mul(*grad_hy, squashed), output);
  }
  const at::Tensor by_gates = at::cat(
      {at::sigmoid_backward(at::mul(by_cell, candidate), in), at::sigmoid_backward(at::mul(by_cell, cx), forget),
       at::tanh_backward(at::mul(by_cell, in), candidate), by_output},
      1);
  assign(grad_gates, by_gates);
  assign(grad_cx, at::mul(by_cell, forget));
  if (has_bias) assign(grad_bias, by_gates.sum(0));
}

}  // namespace

ACLNN(ThnnFusedLstmCell,
      (In, inputGates)(In, hiddenGates)(In, cx)(OptIn, inputBiasOptional)(OptIn, hiddenBiasOptional)(Out, hyOut)(
          Out, cyOut)(Out, storageOut),
      lstm_cell(inputGates, hiddenGates, cx, inputBiasOptional, hiddenBiasOptional, hyOut, cyOut, storageOut))
ACLNN(ThnnFusedLstmCellBackward,
      (OptIn, gradHyOptional)(OptIn, gradCOptional)(In, cx)(In, cy)(In, storage)(Bool, hasBias)(Out, gradGatesOut)(
          Out, gradCxOut)(OptOut, gradBiasOut),
      lstm_cell_backward(gradHyOptional, gradCOptional, cx, cy, storage, hasBias, gradGatesOut, gradCxOut, gradBiasOut))
