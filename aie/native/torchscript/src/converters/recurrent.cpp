// converters/recurrent.cpp: LSTM, GRU and plain recurrent layers, and their cells.
#include <c10/util/Exception.h>

#include "converters/shared.h"

namespace torch_aie::core::conversion::converters {

namespace {

using AscendIE::Tensor;
using torch::jit::Node;

void append(ConversionCtx* ctx, std::vector<Tensor*>& inputs, const Var& var) {
  if (var.isNone()) return;
  const auto more = var.isList() || !(var.isAscendTensor() || var.getIValue().isTensor())
                        ? var.getFreezeAscendTensors(ctx)
                        : std::vector<Tensor*>{var.getFreezeAscendTensor(ctx)};
  inputs.insert(inputs.end(), more.begin(), more.end());
}

/// The numbers of the engine's kinds (RecurrentKind in engine/src/operations/recurrent.h).
enum Kind : int64_t { kLstm, kGru, kTanh, kRelu };

Converter recurrent(Kind kind) {
  return [kind](ConversionCtx* ctx, const Node* node, args& arguments) {
    TORCH_CHECK_VALUE(!arguments[6].unwrapToBool(), "the layer is in training: call eval() on the module");
    std::vector<Tensor*> inputs;
    for (size_t i = 0; i < 3; ++i) append(ctx, inputs, arguments[i]);
    auto* const layer = ctx->net->AddOperation("Recurrent", inputs,
                                               {{"kind", int64_t{kind}},
                                                {"biases", int64_t{arguments[3].unwrapToBool()}},
                                                {"layers", arguments[4].unwrapToInt()},
                                                {"bidirectional", int64_t{arguments[7].unwrapToBool()}},
                                                {"batch_first", int64_t{arguments[8].unwrapToBool()}}});
    return finish_all(ctx, node, layer);
  };
}

Converter cell(const char* operation) {
  return [operation](ConversionCtx* ctx, const Node* node, args& arguments) {
    TORCH_CHECK_VALUE(arguments[4].isNone() == arguments[5].isNone(),
                      "the cell has one bias, allowed are both or none");
    std::vector<Tensor*> inputs;
    for (const Var& argument : arguments) append(ctx, inputs, argument);
    return finish_all(ctx, node, ctx->net->AddOperation(operation, inputs));
  };
}

const auto g_recurrent =
    RegisterNodeConverters()
        .pattern(
            "aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, "
            "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
            recurrent(kLstm))
        .pattern(
            "aten::gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
            "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
            recurrent(kGru))
        .pattern(
            "aten::rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
            "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
            recurrent(kTanh))
        .pattern(
            "aten::rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
            "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
            recurrent(kRelu))
        .pattern(
            "aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
            "Tensor? b_hh=None) -> (Tensor, Tensor)",
            cell("LstmCell"))
        .pattern(
            "aten::gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
            "Tensor? b_hh=None) -> Tensor",
            cell("GruCell"));

}  // namespace

}  // namespace torch_aie::core::conversion::converters
