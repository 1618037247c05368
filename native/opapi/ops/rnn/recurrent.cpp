// native/opapi/ops/rnn/recurrent.cpp
#include "opapi/ops/rnn/recurrent.h"

namespace opwright::opapi::recurrent {

Network::Network(const std::vector<at::Tensor>& weights, bool has_bias, int64_t layers, bool bidirectional,
                 int64_t gates)
    : has_bias(has_bias), layers(layers), directions(bidirectional ? 2 : 1), gates(gates) {
  require(layers >= 1, ACLNN_ERR_PARAM_INVALID, "numLayers is ", layers, "; allowed: at least 1");
  const auto wanted = static_cast<size_t>(count() * per_direction());
  require(weights.size() == wanted, ACLNN_ERR_PARAM_INVALID, "params has ", weights.size(), " tensors; ", layers,
          " layers in ", directions, " directions ", has_bias ? "with" : "without", " bias need ", wanted);
  for (const at::Tensor& weight : weights) params.push_back(widened(weight));
  for (int64_t k = 0; k < count(); ++k) {
    require(ih(k).dim() == 2 && hh(k).dim() == 2 && hh(k).size(0) == gates * hh(k).size(1) &&
                ih(k).size(0) == hh(k).size(0) && hh(k).size(1) == hidden(),
            ACLNN_ERR_PARAM_INVALID, "params: the weights of layer ", k / directions, " have the shapes ",
            ih(k).sizes(), " and ", hh(k).sizes(), "; allowed: [", gates, " * hidden, features] and [", gates,
            " * hidden, hidden]");
  }
}

Sequence::Sequence(const at::Tensor& input, const std::optional<at::Tensor>& batch_sizes, bool batch_first) {
  const at::Tensor values = widened(input);
  if (!batch_sizes || batch_sizes->numel() == 0) {
    require(values.dim() == 3, ACLNN_ERR_PARAM_INVALID, "input has ", values.dim(), " dimensions; allowed: 3");
    x = batch_first ? values.transpose(0, 1) : values;
    return;
  }
  const int64_t steps = batch_sizes->numel();
  require(values.dim() == 2 && values.size(0) % steps == 0, ACLNN_ERR_PARAM_INVALID, "input has the shape ",
          values.sizes(), "; with batchSizes it must be [", steps, " * batch, features]");
  x = values.unflatten(0, {steps, values.size(0) / steps});
  valid = at::arange(x.size(1), at::kLong).unsqueeze(0).lt(batch_sizes->reshape({-1, 1})).unsqueeze(-1);
}

at::Tensor initial_state(const at::Tensor& given, const Network& network, const Sequence& sequence, const char* name) {
  const std::vector<int64_t> shape = {network.count(), sequence.batch(), network.hidden()};
  if (!given.defined()) return at::zeros(shape, sequence.x.options());
  require(given.sizes() == at::IntArrayRef(shape), ACLNN_ERR_PARAM_INVALID, name, " has the shape ", given.sizes(),
          "; allowed: ", at::IntArrayRef(shape));
  return widened(given);
}

void put(at::Tensor& out, const at::Tensor& values, bool batch_first) {
  const at::Tensor result = batch_first ? values.transpose(0, 1) : values;
  assign(out, out.dim() == 2 ? result.flatten(0, 1) : result);
}

at::Tensor time_first(const at::Tensor& values, const Sequence& sequence, bool batch_first) {
  const at::Tensor wide = widened(values);
  if (wide.dim() == 2) return wide.unflatten(0, {sequence.steps(), sequence.batch()});
  return batch_first && !sequence.valid.defined() ? wide.transpose(0, 1) : wide;
}

at::Tensor states_before(const at::Tensor& states, const at::Tensor& first, bool backwards) {
  const int64_t others = states.size(0) - 1;
  return backwards ? at::cat({states.narrow(0, 1, others), first.unsqueeze(0)})
                   : at::cat({first.unsqueeze(0), states.narrow(0, 0, others)});
}

at::Tensor layer_input(const Network& network, const Sequence& sequence, const std::vector<at::Tensor>& states,
                       int64_t layer) {
  if (layer == 0) return sequence.x;
  std::vector<at::Tensor> parts;
  for (int64_t k = (layer - 1) * network.directions; k < layer * network.directions; ++k) {
    parts.push_back(sequence.cut(states[k]));
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts, -1);
}

void put_weight_gradients(std::vector<at::Tensor>& grads, const Network& network, int64_t k, const at::Tensor& by_input,
                          const at::Tensor& by_state, const at::Tensor& input, const at::Tensor& before) {
  require(grads.size() == network.params.size(), ACLNN_ERR_PARAM_INVALID, "dparamsOut has ", grads.size(),
          " tensors; needed: ", network.params.size(), ", one for each of params");
  const int64_t first = k * network.per_direction();
  const at::Tensor flat_input = by_input.flatten(0, 1), flat_state = by_state.flatten(0, 1);
  assign(grads[first], flat_input.t().mm(input.flatten(0, 1)));
  assign(grads[first + 1], flat_state.t().mm(before.flatten(0, 1)));
  if (!network.has_bias) return;
  assign(grads[first + 2], flat_input.sum(0));
  assign(grads[first + 3], flat_state.sum(0));
}

std::vector<at::Tensor> one_each(const std::vector<at::Tensor>& list, const Network& network, const char* name) {
  require(list.size() == static_cast<size_t>(network.count()), ACLNN_ERR_PARAM_INVALID, name, " has ", list.size(),
          " tensors; needed: ", network.count(),
          ", one for each layer and direction of a forward pass with train=True");
  std::vector<at::Tensor> wide;
  for (const at::Tensor& tensor : list) wide.push_back(widened(tensor));
  return wide;
}

void put_lists(std::initializer_list<ResultList> lists) {
  for (const auto& [outs, values, name] : lists) {
    require(outs.size() == values.size(), ACLNN_ERR_PARAM_INVALID, name, " has ", outs.size(),
            " tensors; needed: ", values.size(), ", one for each layer and direction");
    for (size_t i = 0; i < outs.size(); ++i) assign(outs[i], values[i]);
  }
}

}  // namespace opwright::opapi::recurrent
