// native/opapi/ops/attention/gated_delta_rule.cpp
// Linear attention by the gated delta rule. For each token, in float32, with one state S [Dv, Dk] for each head of the
// value:
//   S <- S * decay;  S <- S + (beta * (v - S k)) k^T;  out = S (scale * q)
#include "opapi/opapi.h"

namespace {

struct DeltaRuleOperands {
  const at::Tensor &query, &key, &value;
  const OptionalTensor &beta, &decay, &decay_of_key;  // the decays as logarithms
  double scale;
};

// The operands of one token after another, each for all heads of the value.
class Recurrence {
 public:
  explicit Recurrence(const DeltaRuleOperands& operands) {
    const at::Tensor &query = operands.query, &key = operands.key, &value = operands.value;
    require(query.dim() == 3 && value.dim() == 3 && query.sizes() == key.sizes() && query.size(0) == value.size(0),
            ACLNN_ERR_PARAM_INVALID, "query, key and value have shapes ", query.sizes(), ", ", key.sizes(), " and ",
            value.sizes(), "; they must be [T, Nk, Dk] twice and [T, Nv, Dv]");
    const int64_t heads = value.size(1), key_heads = key.size(1);
    require(key_heads > 0 && heads % key_heads == 0, ACLNN_ERR_PARAM_INVALID, "the value's ", heads,
            " heads are not a multiple of the key's ", key_heads);
    query_ = to_float(query).mul(operands.scale).repeat_interleave(heads / key_heads, 1);
    key_ = to_float(key).repeat_interleave(heads / key_heads, 1);
    value_ = to_float(value);
    const at::DimVector per_head{value.size(0), heads};
    beta_ = factor(operands.beta, per_head, "beta");
    decay_ = factor(operands.decay, per_head, "g");
    decay_of_key_ = factor(operands.decay_of_key, {value.size(0), heads, key.size(2)}, "gk");
    if (decay_.defined()) decay_ = decay_.exp();
    if (decay_of_key_.defined()) decay_of_key_ = decay_of_key_.exp();
  }

  // Changes `state` [Nv, Dv, Dk] by one token; returns its result [Nv, Dv].
  at::Tensor step(int64_t token, at::Tensor& state) const {
    if (decay_.defined()) state.mul_(decay_.select(0, token).view({-1, 1, 1}));
    if (decay_of_key_.defined()) state.mul_(decay_of_key_.select(0, token).unsqueeze(1));
    const at::Tensor key = key_.select(0, token);
    at::Tensor change = at::sub(value_.select(0, token), state.matmul(key.unsqueeze(2)).squeeze(2));
    if (beta_.defined()) change.mul_(beta_.select(0, token).unsqueeze(1));
    state.baddbmm_(change.unsqueeze(2), key.unsqueeze(1));
    return state.matmul(query_.select(0, token).unsqueeze(2)).squeeze(2);
  }

  int64_t tokens() const { return value_.size(0); }

 private:
  static at::Tensor factor(const OptionalTensor& given, at::IntArrayRef shape, const char* name) {
    if (!given) return {};
    require(given->sizes() == shape, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ", given->sizes(),
            "; it must have ", shape);
    return to_float(*given);
  }

  at::Tensor query_, key_, value_, beta_, decay_, decay_of_key_;
};

std::vector<int64_t> numbers(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kLong).contiguous().view(-1);
  const int64_t* first = flat.const_data_ptr<int64_t>();
  return {first, first + flat.numel()};
}

std::vector<int64_t> lengths_of(const OptionalTensor& given, int64_t tokens) {
  require(given.has_value(), ACLNN_ERR_PARAM_NULLPTR, "parameter 'actualSeqLengths' is needed: the length of each ",
          "sequence");
  std::vector<int64_t> lengths = numbers(*given);
  int64_t sum = 0;
  for (const int64_t length : lengths) {
    require(length >= 0 && length <= tokens - sum, ACLNN_ERR_PARAM_INVALID, "parameter 'actualSeqLengths' has ", length,
            " after ", sum, " tokens; there are ", tokens);
    sum += length;
  }
  return lengths;
}

void check_state(const at::Tensor& state, const at::Tensor& value, const at::Tensor& key, const char* name) {
  require(state.dim() == 4 && state.size(1) == value.size(1) && state.size(2) == value.size(2) &&
              state.size(3) == key.size(2),
          ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ", state.sizes(), "; it must be [*, ",
          value.size(1), ", ", value.size(2), ", ", key.size(2), "]");
}

// Each token has a place in `state`, where what it leaves is stored; a sequence goes on from that of the last token
// which was accepted.
void recurrent(const DeltaRuleOperands& operands, at::Tensor& state, const OptionalTensor& actual_lengths,
               const OptionalTensor& indices, const OptionalTensor& accepted, at::Tensor& out) {
  const Recurrence recurrence(operands);
  check_state(state, operands.value, operands.key, "stateRef");
  const std::vector<int64_t> lengths = lengths_of(actual_lengths, recurrence.tokens());
  require(indices.has_value(), ACLNN_ERR_PARAM_NULLPTR, "parameter 'ssmStateIndices' is needed");
  const std::vector<int64_t> places = numbers(*indices);
  require(static_cast<int64_t>(places.size()) >= recurrence.tokens(), ACLNN_ERR_PARAM_INVALID,
          "parameter 'ssmStateIndices' has ", places.size(), " elements for ", recurrence.tokens(), " tokens");
  const std::vector<int64_t> taken = accepted ? numbers(*accepted) : std::vector<int64_t>(lengths.size(), 1);
  require(taken.size() == lengths.size(), ACLNN_ERR_PARAM_INVALID, "parameter 'numAcceptedTokens' has ", taken.size(),
          " elements for ", lengths.size(), " sequences");
  const auto place = [&](int64_t token) {
    const int64_t index = places[token];
    require(0 <= index && index < state.size(0), ACLNN_ERR_PARAM_INVALID, "parameter 'ssmStateIndices' has ", index,
            "; it must be at least 0 and less than ", state.size(0));
    return state.select(0, index);
  };
  out.zero_();
  int64_t start = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] == 0) continue;
    require(1 <= taken[i] && taken[i] <= lengths[i], ACLNN_ERR_PARAM_INVALID, "parameter 'numAcceptedTokens' has ",
            taken[i], "; it must be from 1 to the length of the sequence, ", lengths[i]);
    at::Tensor current = to_float(place(start + taken[i] - 1)).clone();
    for (int64_t token = start; token < start + lengths[i]; ++token) {
      out.select(0, token).copy_(recurrence.step(token, current));
      place(token).copy_(current);
    }
    start += lengths[i];
  }
}

// One state for each sequence, before and after it.
void chunked(const DeltaRuleOperands& operands, const at::Tensor& initial, const OptionalTensor& actual_lengths,
             at::Tensor& out, at::Tensor& final_state) {
  const Recurrence recurrence(operands);
  check_state(initial, operands.value, operands.key, "initialState");
  const std::vector<int64_t> lengths = lengths_of(actual_lengths, recurrence.tokens());
  require(static_cast<int64_t>(lengths.size()) == initial.size(0), ACLNN_ERR_PARAM_INVALID,
          "parameter 'initialState' has ", initial.size(0), " states for ", lengths.size(), " sequences");
  out.zero_();
  int64_t token = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    at::Tensor current = to_float(initial.select(0, static_cast<int64_t>(i))).clone();
    for (const int64_t end = token + lengths[i]; token < end; ++token) {
      out.select(0, token).copy_(recurrence.step(token, current));
    }
    final_state.select(0, static_cast<int64_t>(i)).copy_(current);
  }
}

}  // namespace

ACLNN(RecurrentGatedDeltaRule,
      (In, query)(In, key)(In, value)(OptIn, beta)(Ref, stateRef)(OptIn, actualSeqLengths)(OptIn, ssmStateIndices)(
          OptIn, g)(OptIn, gk)(OptIn, numAcceptedTokens)(Float, scaleValue)(Out, out),
      recurrent({query, key, value, beta, g, gk, scaleValue}, stateRef, actualSeqLengths, ssmStateIndices,
                numAcceptedTokens, out))
ACLNN(ChunkGatedDeltaRule,
      (In, query)(In, key)(In, value)(OptIn, beta)(In, initialState)(OptIn, actualSeqLengths)(OptIn, gOptional)(
          Float, scaleValue)(Out, out)(Out, finalState),
      chunked({query, key, value, beta, gOptional, kNone, scaleValue}, initialState, actualSeqLengths, out, finalState))
