// native/opapi/ops/rnn/lstm.cpp
// LSTM networks of several layers and directions, and their gradients. Gates stand in PyTorch's order: input, forget,
// candidate (j or g), output.
#include "opapi/ops/rnn/recurrent.h"

namespace {

using recurrent::Network;
using recurrent::Sequence;

// Values that each step of one layer and direction leaves for the gradient.
struct LstmTrace {
  at::Tensor in, candidate, forget, output, h, c, squashed;
};

struct LstmTraces {
  std::vector<at::Tensor> in, candidate, forget, output, h, c, squashed;

  void add(const LstmTrace& one) {
    in.push_back(one.in);
    candidate.push_back(one.candidate);
    forget.push_back(one.forget);
    output.push_back(one.output);
    h.push_back(one.h);
    c.push_back(one.c);
    squashed.push_back(one.squashed);
  }
};

// Where a sequence has ended its state stays what it was.
void keep_ended(const Sequence& sequence, int64_t step, at::Tensor& next, const at::Tensor& before) {
  if (sequence.valid.defined()) next = at::where(sequence.valid[step], next, before);
}

LstmTrace run_direction(const Network& network, const Sequence& sequence, int64_t k, const at::Tensor& input,
                        at::Tensor h, at::Tensor c) {
  at::Tensor gates = input.matmul(network.ih(k).t());
  if (network.has_bias) gates.add_(network.bias_ih(k)).add_(network.bias_hh(k));
  const at::Tensor like = at::empty({sequence.steps(), sequence.batch(), network.hidden()}, input.options());
  LstmTrace trace{{}, {}, {}, {}, like, at::empty_like(like), at::empty_like(like)};
  const at::Tensor weight = network.hh(k).t();
  for (int64_t order = 0; order < sequence.steps(); ++order) {
    const int64_t step = recurrent::step_at(order, network, k, sequence);
    const std::vector<at::Tensor> parts = gates[step].addmm_(h, weight).chunk(4, 1);
    parts[0].sigmoid_();
    parts[1].sigmoid_();
    parts[2].tanh_();
    parts[3].sigmoid_();
    at::Tensor next_c = at::addcmul(at::mul(parts[1], c), parts[0], parts[2]);
    keep_ended(sequence, step, next_c, c);
    c = next_c;
    const at::Tensor squashed = at::tanh(c);
    at::Tensor next_h = at::mul(parts[3], squashed);
    keep_ended(sequence, step, next_h, h);
    h = next_h;
    trace.h[step].copy_(h);
    trace.c[step].copy_(c);
    trace.squashed[step].copy_(squashed);
  }
  const std::vector<at::Tensor> parts = gates.chunk(4, 2);
  trace.in = parts[0];
  trace.forget = parts[1];
  trace.candidate = parts[2];
  trace.output = parts[3];
  return trace;
}

at::Tensor state_of(const std::vector<at::Tensor>& hx, size_t which) {
  require(hx.empty() || hx.size() == 2, ACLNN_ERR_PARAM_INVALID, "hx has ", hx.size(),
          " tensors; allowed: 2 (hidden and cell state), or none");
  return hx.empty() ? at::Tensor() : hx[which];
}

struct Results {
  at::Tensor &output, &hy, &cy;
};

LstmTraces lstm(const at::Tensor& input, const std::vector<at::Tensor>& params, const std::vector<at::Tensor>& hx,
                const std::optional<at::Tensor>& batch_sizes, bool has_bias, int64_t layers, bool bidirectional,
                bool batch_first, Results results) {
  const Network network(params, has_bias, layers, bidirectional, 4);
  const Sequence sequence(input, batch_sizes, batch_first);
  const at::Tensor h0 = recurrent::initial_state(state_of(hx, 0), network, sequence, "hx[0]");
  const at::Tensor c0 = recurrent::initial_state(state_of(hx, 1), network, sequence, "hx[1]");
  LstmTraces traces;
  std::vector<at::Tensor> last_h, last_c;
  for (int64_t k = 0; k < network.count(); ++k) {
    const at::Tensor x = recurrent::layer_input(network, sequence, traces.h, k / network.directions);
    traces.add(run_direction(network, sequence, k, x, h0[k], c0[k]));
    const int64_t last = recurrent::step_at(sequence.steps() - 1, network, k, sequence);
    last_h.push_back(traces.h.back()[last]);
    last_c.push_back(traces.c.back()[last]);
  }
  recurrent::put(results.output, recurrent::layer_input(network, sequence, traces.h, layers), batch_first);
  assign(results.hy, at::stack(last_h));
  assign(results.cy, at::stack(last_c));
  return traces;
}

struct Direction {
  const at::Tensor &ih, &hh;
  const OptionalTensor &bias_ih, &bias_hh;
};

// The weights of one layer in the order that Network has them.
std::vector<at::Tensor> weights_of(const Direction& forwards, const OptionalTensor& reverse_ih,
                                   const OptionalTensor& reverse_hh, const OptionalTensor& reverse_bias_ih,
                                   const OptionalTensor& reverse_bias_hh, bool has_bias, bool bidirectional) {
  std::vector<at::Tensor> weights{forwards.ih, forwards.hh};
  const auto add = [&](const OptionalTensor& tensor, const char* name) {
    require(tensor.has_value(), ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' is null; isbias is ", has_bias,
            " and bidirection ", bidirectional);
    weights.push_back(*tensor);
  };
  if (has_bias) add(forwards.bias_ih, "bIhOptional");
  if (has_bias) add(forwards.bias_hh, "bHhOptional");
  if (bidirectional) add(reverse_ih, "wIhReverseOptional");
  if (bidirectional) add(reverse_hh, "wHhReverseOptional");
  if (bidirectional && has_bias) add(reverse_bias_ih, "bIhReverseOptional");
  if (bidirectional && has_bias) add(reverse_bias_hh, "bHhReverseOptional");
  return weights;
}

// One layer in one or two directions. Sequences of several lengths are sorted, the longest first; `sizes` says how many
// of them each step has. Packed data holds the steps without what would fill them up.
void bidirectional_lstm(const at::Tensor& x, const at::Tensor& h, const at::Tensor& c,
                        const std::vector<at::Tensor>& weights, const OptionalTensor& sizes, bool has_bias,
                        int64_t layers, bool batch_first, bool bidirectional, bool packed, Results results) {
  require(layers == 1, ACLNN_ERR_PARAM_INVALID, "numLayers is ", layers, "; allowed: 1");
  require(!batch_first, ACLNN_ERR_PARAM_INVALID, "batchFirst is true; allowed: false");
  const bool of_lengths = sizes && sizes->numel() > 0;
  if (!of_lengths) {
    lstm(x, weights, {h, c}, std::nullopt, has_bias, layers, bidirectional, batch_first, results);
    return;
  }
  const int64_t steps = sizes->numel(), batch = h.size(1);
  require(x.dim() == (packed ? 2 : 3), ACLNN_ERR_PARAM_INVALID, "x has ", x.dim(), " dimensions; packed is ", packed,
          ", which needs ", packed ? 2 : 3);
  if (!packed) {
    lstm(x.flatten(0, 1), weights, {h, c}, sizes, has_bias, layers, bidirectional, batch_first, results);
    return;
  }
  const at::Tensor used = at::arange(batch, at::kLong).unsqueeze(0).lt(sizes->reshape({-1, 1})).flatten();
  const at::Tensor rows = used.nonzero().flatten();
  require(rows.numel() == x.size(0), ACLNN_ERR_PARAM_INVALID, "x has ", x.size(0), " rows; batchSizeOptional sums to ",
          rows.numel());
  const at::Tensor filled = at::zeros({steps * batch, x.size(1)}, x.options()).index_copy_(0, rows, x);
  const int64_t features = h.size(2) * (bidirectional ? 2 : 1);
  at::Tensor output = at::empty({steps * batch, features}, x.options());
  lstm(filled, weights, {h, c}, sizes, has_bias, layers, bidirectional, batch_first, {output, results.hy, results.cy});
  assign(results.output, output.index_select(0, rows));
}

struct StateGradients {
  at::Tensor h, c;
};

// Gradients of the four gates of every step; `next` starts as the gradient of the last state and ends as that of the
// first.
at::Tensor gate_gradients(const Network& network, const Sequence& sequence, int64_t k, const LstmTrace& trace,
                          const at::Tensor& c_before, const at::Tensor& dy, StateGradients& next) {
  at::Tensor grads = at::empty({sequence.steps(), sequence.batch(), 4 * network.hidden()}, dy.options());
  for (int64_t order = sequence.steps() - 1; order >= 0; --order) {
    const int64_t step = recurrent::step_at(order, network, k, sequence);
    const at::Tensor in = trace.in[step], forget = trace.forget[step], output = trace.output[step];
    const at::Tensor candidate = trace.candidate[step], squashed = trace.squashed[step];
    const at::Tensor by_h = at::add(dy[step], next.h);
    const at::Tensor by_c = at::tanh_backward(at::mul(by_h, output), squashed).add_(next.c);
    at::Tensor by_gates = at::cat(
        {at::sigmoid_backward(at::mul(by_c, candidate), in),
         at::sigmoid_backward(at::mul(by_c, c_before[step]), forget), at::tanh_backward(at::mul(by_c, in), candidate),
         at::sigmoid_backward(at::mul(by_h, squashed), output)},
        1);
    if (sequence.valid.defined()) by_gates.mul_(sequence.valid[step]);
    StateGradients before{by_gates.mm(network.hh(k)), at::mul(by_c, forget)};
    keep_ended(sequence, step, before.h, next.h);
    keep_ended(sequence, step, before.c, next.c);
    next = before;
    grads[step].copy_(by_gates);
  }
  return grads;
}

struct LstmGradients {
  at::Tensor &x, &h, &c;
  std::vector<at::Tensor>& params;
};

void lstm_backward(const Network& network, const Sequence& sequence, const at::Tensor& h0, const at::Tensor& c0,
                   const LstmTraces& traces, const std::optional<at::Tensor>& grad_y, const at::Tensor& grad_h,
                   const at::Tensor& grad_c, bool batch_first, LstmGradients out) {
  const int64_t hidden = network.hidden();
  at::Tensor dy = grad_y ? sequence.cut(recurrent::time_first(*grad_y, sequence, batch_first))
                         : at::zeros({sequence.steps(), sequence.batch(), network.directions * hidden}, h0.options());
  std::vector<StateGradients> first(network.count());
  for (int64_t layer = network.layers - 1; layer >= 0; --layer) {
    const at::Tensor x = recurrent::layer_input(network, sequence, traces.h, layer);
    at::Tensor dx;
    for (int64_t d = 0; d < network.directions; ++d) {
      const int64_t k = layer * network.directions + d;
      const LstmTrace trace{traces.in[k], traces.candidate[k], traces.forget[k],  traces.output[k],
                            traces.h[k],  traces.c[k],         traces.squashed[k]};
      const at::Tensor c_before = recurrent::states_before(trace.c, c0[k], network.backwards(k));
      const at::Tensor h_before = recurrent::states_before(trace.h, h0[k], network.backwards(k));
      first[k] = {grad_h[k], grad_c[k]};
      const at::Tensor part = dy.narrow(2, d * hidden, hidden);
      const at::Tensor by_gates = gate_gradients(network, sequence, k, trace, c_before, part, first[k]);
      recurrent::put_weight_gradients(out.params, network, k, by_gates, by_gates, x, h_before);
      const at::Tensor by_x = by_gates.matmul(network.ih(k));
      dx = dx.defined() ? dx.add_(by_x) : by_x;
    }
    dy = layer > 0 ? sequence.cut(dx) : dx;
  }
  recurrent::put(out.x, dy, batch_first && !sequence.valid.defined());
  std::vector<at::Tensor> dh, dc;
  for (const StateGradients& one : first) {
    dh.push_back(one.h);
    dc.push_back(one.c);
  }
  assign(out.h, at::stack(dh));
  assign(out.c, at::stack(dc));
}

}  // namespace

// Dropout between layers is not applied, as on the device.
ACLNN(
    LSTM,
    (In, input)(TensorList, params)(OptTensorList, hx)(OptIndex, batchSizes)(Bool, hasBias)(Int, numLayers)(
        Double, dropout)(Bool, train)(Bool, bidirectional)(Bool, batchFirst)(Out, output)(Out, hy)(Out, cy)(OptOutList,
                                                                                                            iOut)(
        OptOutList, jOut)(OptOutList, fOut)(OptOutList, oOut)(OptOutList, hOut)(OptOutList, cOut)(OptOutList, tanhCOut),
    const LstmTraces traces = lstm(input, params, hx, batchSizes, hasBias, numLayers, bidirectional, batchFirst,
                                   {output, hy, cy});
    if (train) {
      recurrent::put_lists({{iOut, traces.in, "iOut"},
                            {jOut, traces.candidate, "jOut"},
                            {fOut, traces.forget, "fOut"},
                            {oOut, traces.output, "oOut"},
                            {hOut, traces.h, "hOut"},
                            {cOut, traces.c, "cOut"},
                            {tanhCOut, traces.squashed, "tanhCOut"}});
    })
// outputMask is not looked at: all gradients are computed.
ACLNN(
    LstmBackward,
    (In, input)(OptTensorList, hx)(TensorList, params)(OptIn, dy)(OptIn, dh)(OptIn, dc)(OptTensorList, i)(
        OptTensorList, g)(OptTensorList, f)(OptTensorList, o)(OptTensorList, h)(OptTensorList, c)(OptTensorList, tanhc)(
        OptIndex, batchSizesOptional)(Bool, hasBias)(Int, numLayers)(Double, dropout)(Bool, train)(Bool, bidirectional)(
        Bool, batchFirst)(BoolsOrNone, outputMask)(Out, dxOut)(Out, dhPrevOut)(Out, dcPrevOut)(OutList, dparamsOut),
    const Network network(params, hasBias, numLayers, bidirectional, 4);
    const Sequence sequence(input, batchSizesOptional, batchFirst);
    const auto state = [&](const at::Tensor& given,
                           const char* name) { return recurrent::initial_state(given, network, sequence, name); };
    const LstmTraces traces{recurrent::one_each(i, network, "i"), recurrent::one_each(g, network, "g"),
                            recurrent::one_each(f, network, "f"), recurrent::one_each(o, network, "o"),
                            recurrent::one_each(h, network, "h"), recurrent::one_each(c, network, "c"),
                            recurrent::one_each(tanhc, network, "tanhc")};
    lstm_backward(network, sequence, state(state_of(hx, 0), "hx[0]"), state(state_of(hx, 1), "hx[1]"), traces, dy,
                  state(or_undefined(dh), "dh"), state(or_undefined(dc), "dc"), batchFirst,
                  {dxOut, dhPrevOut, dcPrevOut, dparamsOut}))
#define BIDIRECTION_LSTM_WEIGHTS                                                                                      \
  (In, x)(In, initH)(In, initC)(In, wIh)(In, wHh)(OptIn, bIhOptional)(OptIn, bHhOptional)(OptIn, wIhReverseOptional)( \
      OptIn, wHhReverseOptional)(OptIn, bIhReverseOptional)(OptIn, bHhReverseOptional)
#define BIDIRECTION_LSTM(SIZES, PACKED)                                                                       \
  bidirectional_lstm(x, initH, initC,                                                                         \
                     weights_of({wIh, wHh, bIhOptional, bHhOptional}, wIhReverseOptional, wHhReverseOptional, \
                                bIhReverseOptional, bHhReverseOptional, isbias, bidirection),                 \
                     SIZES, isbias, numLayers, batchFirst, bidirection, PACKED, {yOut, outputHOut, outputCOut})
ACLNN(BidirectionLSTM,
      BIDIRECTION_LSTM_WEIGHTS(Int, numLayers)(Bool, isbias)(Bool, batchFirst)(Bool, bidirection)(Out, yOut)(
          Out, outputHOut)(Out, outputCOut),
      BIDIRECTION_LSTM(kNone, false))
ACLNN(BidirectionLSTMV2,
      BIDIRECTION_LSTM_WEIGHTS(OptIndex, batchSizeOptional)(Int, numLayers)(Bool, isbias)(Bool, batchFirst)(
          Bool, bidirection)(Bool, packed)(Out, yOut)(Out, outputHOut)(Out, outputCOut),
      BIDIRECTION_LSTM(batchSizeOptional, packed))

#undef BIDIRECTION_LSTM_WEIGHTS
#undef BIDIRECTION_LSTM
