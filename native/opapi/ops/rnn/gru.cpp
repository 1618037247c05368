// native/opapi/ops/rnn/gru.cpp
// GRU networks of several layers and directions, and their gradients. Gates stand in PyTorch's order: reset, update,
// new.
#include "opapi/ops/rnn/recurrent.h"

namespace {

using recurrent::Network;
using recurrent::Sequence;

struct GruTrace {
  at::Tensor reset, update, candidate, hidden_part, h;
};

struct GruTraces {
  std::vector<at::Tensor> reset, update, candidate, hidden_part, h;

  void add(const GruTrace& one) {
    reset.push_back(one.reset);
    update.push_back(one.update);
    candidate.push_back(one.candidate);
    hidden_part.push_back(one.hidden_part);
    h.push_back(one.h);
  }
};

GruTrace run_direction(const Network& network, const Sequence& sequence, int64_t k, const at::Tensor& input,
                       at::Tensor h) {
  at::Tensor gates = input.matmul(network.ih(k).t());
  if (network.has_bias) gates.add_(network.bias_ih(k));
  const at::Tensor like = at::empty({sequence.steps(), sequence.batch(), network.hidden()}, input.options());
  const std::vector<at::Tensor> parts = gates.chunk(3, 2);
  const GruTrace trace{parts[0], parts[1], parts[2], like, at::empty_like(like)};
  const at::Tensor weight = network.hh(k).t();
  for (int64_t order = 0; order < sequence.steps(); ++order) {
    const int64_t step = recurrent::step_at(order, network, k, sequence);
    const at::Tensor by_state = network.has_bias ? at::addmm(network.bias_hh(k), h, weight) : h.mm(weight);
    const std::vector<at::Tensor> state = by_state.chunk(3, 1);
    at::Tensor reset = trace.reset[step].add_(state[0]).sigmoid_();
    at::Tensor update = trace.update[step].add_(state[1]).sigmoid_();
    at::Tensor candidate = trace.candidate[step].addcmul_(reset, state[2]).tanh_();
    h = at::lerp(candidate, h, update);  // (1 - z) n + z h
    trace.hidden_part[step].copy_(state[2]);
    trace.h[step].copy_(h);
  }
  return trace;
}

void refuse_packed(const OptionalTensor& batch_sizes) {
  require(!batch_sizes || batch_sizes->numel() == 0, ACLNN_ERR_PARAM_INVALID,
          "batchSizes is given; allowed: null (CANN's GRU takes no packed sequences)");
}

GruTraces gru(const at::Tensor& input, const std::vector<at::Tensor>& params, const OptionalTensor& hx,
              const OptionalTensor& batch_sizes, bool has_bias, int64_t layers, bool bidirectional, bool batch_first,
              at::Tensor& output, at::Tensor& hy) {
  refuse_packed(batch_sizes);
  const Network network(params, has_bias, layers, bidirectional, 3);
  const Sequence sequence(input, std::nullopt, batch_first);
  const at::Tensor h0 = recurrent::initial_state(or_undefined(hx), network, sequence, "hx");
  GruTraces traces;
  std::vector<at::Tensor> last;
  for (int64_t k = 0; k < network.count(); ++k) {
    const at::Tensor x = recurrent::layer_input(network, sequence, traces.h, k / network.directions);
    traces.add(run_direction(network, sequence, k, x, h0[k]));
    last.push_back(traces.h.back()[recurrent::step_at(sequence.steps() - 1, network, k, sequence)]);
  }
  recurrent::put(output, recurrent::layer_input(network, sequence, traces.h, layers), batch_first);
  assign(hy, at::stack(last));
  return traces;
}

struct GateGradients {
  at::Tensor by_input, by_state;  // of what the two matrix products gave; they differ in the new gate
};

// `next` starts as the gradient of the last state and ends as that of the first.
GateGradients gate_gradients(const Network& network, const Sequence& sequence, int64_t k, const GruTrace& trace,
                             const at::Tensor& before, const at::Tensor& dy, at::Tensor& next) {
  const std::vector<int64_t> shape = {sequence.steps(), sequence.batch(), 3 * network.hidden()};
  const GateGradients grads{at::empty(shape, dy.options()), at::empty(shape, dy.options())};
  for (int64_t order = sequence.steps() - 1; order >= 0; --order) {
    const int64_t step = recurrent::step_at(order, network, k, sequence);
    const at::Tensor reset = trace.reset[step], update = trace.update[step], candidate = trace.candidate[step];
    const at::Tensor by_h = at::add(dy[step], next);
    const at::Tensor by_update = at::sigmoid_backward(at::mul(by_h, at::sub(before[step], candidate)), update);
    const at::Tensor by_new = at::tanh_backward(at::sub(by_h, at::mul(by_h, update)), candidate);
    const at::Tensor by_reset = at::sigmoid_backward(at::mul(by_new, trace.hidden_part[step]), reset);
    at::Tensor by_input = grads.by_input[step], by_state = grads.by_state[step];
    at::cat_out(by_input, {by_reset, by_update, by_new}, 1);
    at::cat_out(by_state, {by_reset, by_update, at::mul(by_new, reset)}, 1);
    next = at::addmm(at::mul(by_h, update), by_state, network.hh(k));
  }
  return grads;
}

struct GruGradients {
  at::Tensor &x, &h;
  std::vector<at::Tensor>& params;
};

void gru_backward(const Network& network, const Sequence& sequence, const at::Tensor& h0, const GruTraces& traces,
                  const at::Tensor& grad_y, const at::Tensor& grad_h, bool batch_first, GruGradients out) {
  const int64_t hidden = network.hidden();
  at::Tensor dy = recurrent::time_first(grad_y, sequence, batch_first);
  std::vector<at::Tensor> first(network.count());
  for (int64_t layer = network.layers - 1; layer >= 0; --layer) {
    const at::Tensor x = recurrent::layer_input(network, sequence, traces.h, layer);
    at::Tensor dx;
    for (int64_t d = 0; d < network.directions; ++d) {
      const int64_t k = layer * network.directions + d;
      const GruTrace trace{traces.reset[k], traces.update[k], traces.candidate[k], traces.hidden_part[k], traces.h[k]};
      const at::Tensor before = recurrent::states_before(trace.h, h0[k], network.backwards(k));
      first[k] = grad_h[k];
      const at::Tensor part = dy.narrow(2, d * hidden, hidden);
      const GateGradients grads = gate_gradients(network, sequence, k, trace, before, part, first[k]);
      recurrent::put_weight_gradients(out.params, network, k, grads.by_input, grads.by_state, x, before);
      const at::Tensor by_x = grads.by_input.matmul(network.ih(k));
      dx = dx.defined() ? dx.add_(by_x) : by_x;
    }
    dy = dx;
  }
  recurrent::put(out.x, dy, batch_first);
  assign(out.h, at::stack(first));
}

}  // namespace

// Dropout between layers is not applied, as on the device.
ACLNN(
    GRU,
    (In, input)(TensorList, params)(OptIn, hx)(OptIndex, batchSizes)(Bool, hasBias)(Int, numLayers)(Double, dropout)(
        Bool, train)(Bool, bidirection)(Bool, batchFirst)(Out, output)(Out, hy)(OptOutList, rOut)(OptOutList, zOut)(
        OptOutList, nOut)(OptOutList, hnOut)(OptOutList, hOut),
    const GruTraces traces = gru(input, params, hx, batchSizes, hasBias, numLayers, bidirection, batchFirst, output,
                                 hy);
    if (train) {
      recurrent::put_lists({{rOut, traces.reset, "rOut"},
                            {zOut, traces.update, "zOut"},
                            {nOut, traces.candidate, "nOut"},
                            {hnOut, traces.hidden_part, "hnOut"},
                            {hOut, traces.h, "hOut"}});
    })
ACLNN(
    GRUBackward,
    (In, input)(TensorList, params)(OptIn, hx)(In, dy)(In, dh)(OptTensorList, r)(OptTensorList, z)(OptTensorList, n)(
        OptTensorList, hn)(OptTensorList, h)(OptIndex, batchSizes)(Bool, hasBias)(Int, numLayers)(Bool, bidirection)(
        Bool, batchFirst)(Out, dxOut)(Out, dhPrevOut)(OutList, dparamsOut),
    refuse_packed(batchSizes);
    const Network network(params, hasBias, numLayers, bidirection, 3);
    const Sequence sequence(input, std::nullopt, batchFirst);
    const auto state = [&](const at::Tensor& given,
                           const char* name) { return recurrent::initial_state(given, network, sequence, name); };
    const GruTraces traces{recurrent::one_each(r, network, "r"), recurrent::one_each(z, network, "z"),
                           recurrent::one_each(n, network, "n"), recurrent::one_each(hn, network, "hn"),
                           recurrent::one_each(h, network, "h")};
    gru_backward(network, sequence, state(or_undefined(hx), "hx"), traces, dy, state(dh, "dh"), batchFirst,
                 {dxOut, dhPrevOut, dparamsOut}))
