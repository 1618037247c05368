// operations/recurrent.h: the operands of "Recurrent": LSTM, GRU and plain recurrent layers over a sequence.
//
// Inputs: the sequence (time, batch, in), or (batch, time, in) if "batch_first"; the first hidden state and, for LSTM,
// the first cell state, each (layers * directions, batch, hidden); the weights in PyTorch's order. Attributes: "kind",
// "layers", "bidirectional", "batch_first", "biases". Outputs: the last layer's sequence and the last states.
#pragma once

#include "operation.h"

namespace AscendIE {

enum class RecurrentKind { kLstm, kGru, kTanh, kRelu };

struct Recurrent {
  RecurrentKind kind = RecurrentKind::kLstm;
  int64_t layers = 1;
  int64_t directions = 1;
  bool batch_first = false;
  bool biases = true;
  size_t weights = 2;  // the number of the first among the inputs

  size_t weights_per_direction() const { return biases ? 4 : 2; }
};

/// Throws c10::Error for a kind or count that is not allowed.
Recurrent recurrent_of(const Call& call);
/// A weight (gates * hidden, in); saved models of prepared programs have it in another order.
at::Tensor plain_weight(const at::Tensor& weight);

}  // namespace AscendIE
