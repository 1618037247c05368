// native/opapi/ops/rnn/recurrent.h
// Shared by the recurrent networks: sequences with the time first, packed batches, weights of a layer and direction.
// Layers and directions are numbered together: layer 0 forwards, layer 0 backwards, layer 1 forwards ...
#pragma once

#include "opapi/ops/common/precision.h"

namespace opwright::opapi::kind {

using OptOutList = TensorListKind<false, Role::kOutput, false>;  // an empty list arrives as null

}  // namespace opwright::opapi::kind

namespace opwright::opapi::recurrent {

struct Network {
  std::vector<at::Tensor> params;  // widened, as all that is computed with
  bool has_bias;
  int64_t layers;
  int64_t directions;
  int64_t gates;  // how many gates stand one below the other in each weight

  Network(const std::vector<at::Tensor>& weights, bool has_bias, int64_t layers, bool bidirectional, int64_t gates);

  int64_t count() const { return layers * directions; }
  int64_t hidden() const { return hh(0).size(1); }
  int64_t per_direction() const { return has_bias ? 4 : 2; }
  const at::Tensor& ih(int64_t k) const { return params[k * per_direction()]; }
  const at::Tensor& hh(int64_t k) const { return params[k * per_direction() + 1]; }
  const at::Tensor& bias_ih(int64_t k) const { return params[k * per_direction() + 2]; }
  const at::Tensor& bias_hh(int64_t k) const { return params[k * per_direction() + 3]; }
  bool backwards(int64_t k) const { return k % directions == 1; }
};

struct Sequence {
  at::Tensor x;      // time, batch, features
  at::Tensor valid;  // time, batch, 1: false where a shorter sequence has ended; undefined if all have one length

  // `batch_sizes` says how many sequences each step has. torch_npu's packed data keeps the padding.
  Sequence(const at::Tensor& input, const std::optional<at::Tensor>& batch_sizes, bool batch_first);

  int64_t steps() const { return x.size(0); }
  int64_t batch() const { return x.size(1); }
  // The values with zeros where a sequence has ended.
  at::Tensor cut(const at::Tensor& values) const { return valid.defined() ? at::mul(values, valid) : values; }
};

// The initial state of each layer and direction, zeros if it was not given.
at::Tensor initial_state(const at::Tensor& given, const Network& network, const Sequence& sequence, const char* name);

// Results in the layout of the caller: [time, batch, features], batch first, or packed.
void put(at::Tensor& out, const at::Tensor& values, bool batch_first);
at::Tensor time_first(const at::Tensor& values, const Sequence& sequence, bool batch_first);

// The step that comes in place `order` when direction k is computed.
inline int64_t step_at(int64_t order, const Network& network, int64_t k, const Sequence& sequence) {
  return network.backwards(k) ? sequence.steps() - 1 - order : order;
}
// States as they were before each step of direction k.
at::Tensor states_before(const at::Tensor& states, const at::Tensor& first, bool backwards);

// The input of the layer of direction k: the network's input, or the results of the layer before.
at::Tensor layer_input(const Network& network, const Sequence& sequence, const std::vector<at::Tensor>& states,
                       int64_t layer);

// Writes the gradients of the weights of direction k. `by_input` and `by_state` are the gradients of what the two
// matrix products gave.
void put_weight_gradients(std::vector<at::Tensor>& grads, const Network& network, int64_t k, const at::Tensor& by_input,
                          const at::Tensor& by_state, const at::Tensor& input, const at::Tensor& before);

// Tensors that a forward pass in training kept, one for each layer and direction.
std::vector<at::Tensor> one_each(const std::vector<at::Tensor>& list, const Network& network, const char* name);
// A list of results, one for each layer and direction.
struct ResultList {
  std::vector<at::Tensor>& outs;
  const std::vector<at::Tensor>& values;
  const char* name;
};
void put_lists(std::initializer_list<ResultList> lists);

}  // namespace opwright::opapi::recurrent
