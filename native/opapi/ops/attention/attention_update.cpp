// native/opapi/ops/attention/attention_update.cpp
// Attention to parts of the keys, put together: the results of the parts are weighted by their share of the softmax's
// sum. Computed in float32.
#include "opapi/ops/attention/sequences.h"

namespace {

// ---- from the logarithms of the sums

void update(const std::vector<at::Tensor>& lse, const std::vector<at::Tensor>& parts, int64_t type, at::Tensor& out,
            at::Tensor& lse_out) {
  require(!lse.empty() && lse.size() == parts.size(), ACLNN_ERR_PARAM_INVALID, "there are ", lse.size(),
          " tensors in 'lse' and ", parts.size(), " in 'localOut'; there must be one for each part");
  require(type == 0 || type == 1, ACLNN_ERR_PARAM_INVALID, "parameter 'updateType' is ", type, "; it must be 0 or 1");
  require((type == 1) == lse_out.defined(), ACLNN_ERR_PARAM_INVALID, "parameter 'updateType' is ", type,
          ", but 'lseOut' is ", lse_out.defined() ? "given" : "null");
  for (size_t i = 0; i < lse.size(); ++i) {
    require(lse[i].dim() == 1 && parts[i].sizes() == parts[0].sizes() && parts[i].dim() == 2 &&
                parts[i].size(0) == lse[i].size(0),
            ACLNN_ERR_PARAM_INVALID, "part ", i, " has shapes ", lse[i].sizes(), " and ", parts[i].sizes(),
            "; they must be [rows] and [rows, D], the same for all parts");
  }
  const at::Tensor sums = to_float(at::stack(lse));
  const at::Tensor joined = sums.logsumexp(0);
  const at::Tensor shares = at::sub(sums, joined).exp_();
  at::Tensor result = at::zeros(parts[0].sizes(), at::kFloat);
  for (size_t i = 0; i < parts.size(); ++i) {
    result.addcmul_(to_float(parts[i]), shares.select(0, static_cast<int64_t>(i)).unsqueeze(1));
  }
  assign(out, result);
  if (type == 1) assign(lse_out, joined);
}

// ---- from maximum and sum, each repeated over a block of 8

struct Part {
  const at::Tensor &out, &highest, &sum;
};

// From head by head in each sequence, [T, N, 8] only in size, to token by token. Ends are sums, with or without the 0
// in front.
at::Tensor by_token(const at::Tensor& statistics, const OptionalTensor& ends) {
  require(ends.has_value(), ACLNN_ERR_PARAM_NULLPTR, "parameter 'actualSeqQlen' is needed in layout TND");
  const at::Tensor list = ends->to(at::kLong).contiguous();
  const at::IntArrayRef sums(list.const_data_ptr<int64_t>(), list.numel());
  const int64_t heads = statistics.size(1);
  const at::Tensor flat = statistics.contiguous();
  at::Tensor result = flat.clone();
  for (const auto& [batch, start, length] : opapi::attention::packed_spans(sums, flat.size(0), "actualSeqQlen")) {
    if (length == 0) continue;
    result.narrow(0, start, length).copy_(flat.narrow(0, start, length).view({heads, length, -1}).transpose(0, 1));
  }
  return result;
}

void ring_update(const Part& previous, const Part& current, const OptionalTensor& ends, const std::string& layout,
                 const std::string& statistics_layout, at::Tensor& out, at::Tensor& highest_out, at::Tensor& sum_out) {
  require(layout == "SBH" || layout == "TND", ACLNN_ERR_PARAM_INVALID, "parameter 'inputLayout' is '", layout,
          "'; it must be SBH or TND");
  require(statistics_layout.empty() || statistics_layout == "SBH" || statistics_layout == "TND",
          ACLNN_ERR_PARAM_INVALID, "parameter 'inputSoftmaxLayout' is '", statistics_layout,
          "'; it must be empty, SBH or TND");
  const int64_t dims = layout == "SBH" ? 4 : 3;
  require(previous.highest.dim() == dims && previous.out.dim() == 3, ACLNN_ERR_PARAM_INVALID,
          "the softmax's maximum has shape ", previous.highest.sizes(), "; in layout ", layout, " it must have ", dims,
          " dimensions");
  const at::Tensor highest = at::maximum(previous.highest, current.highest);
  const at::Tensor before = at::sub(previous.highest, highest).exp_().mul_(previous.sum);
  const at::Tensor now = at::sub(current.highest, highest).exp_().mul_(current.sum);
  const at::Tensor sum = at::add(before, now);
  const auto share = [&](const at::Tensor& part) {
    const at::Tensor ratio = at::div(part, sum);
    if (layout == "SBH") return ratio.select(3, 0).permute({2, 0, 1}).unsqueeze(3);
    return (statistics_layout == "TND" ? ratio : by_token(ratio, ends)).narrow(2, 0, 1);
  };
  const auto by_head = [&](const at::Tensor& tensor) {
    return layout == "SBH" ? to_float(tensor).unflatten(2, {highest.size(1), -1}) : to_float(tensor);
  };
  const at::Tensor result = by_head(previous.out).mul(share(before)).addcmul_(by_head(current.out), share(now));
  assign(out, result.view(out.sizes()));
  assign(highest_out, highest);
  assign(sum_out, sum);
}

}  // namespace

ACLNN(AttentionUpdate, (TensorList, lse)(TensorList, localOut)(Int, updateType)(Out, out)(OptOut, lseOut),
      update(lse, localOut, updateType, out, lseOut))
#define RING_UPDATE(NAME, STATISTICS_IN, STATISTICS_LAYOUT)                                                    \
  ACLNN(NAME,                                                                                                  \
        (In, prevAttnOut)(In, prevSoftmaxMax)(In, prevSoftmaxSum)(In, curAttnOut)(In, curSoftmaxMax)(          \
            In, curSoftmaxSum)(OptIn, actualSeqQlenOptional)(                                                  \
            Text, inputLayoutOptional)STATISTICS_IN(Out, attnOutOut)(Out, softmaxMaxOut)(Out, softmaxSumOut),  \
        ring_update({prevAttnOut, prevSoftmaxMax, prevSoftmaxSum}, {curAttnOut, curSoftmaxMax, curSoftmaxSum}, \
                    actualSeqQlenOptional, inputLayoutOptional, STATISTICS_LAYOUT, attnOutOut, softmaxMaxOut,  \
                    softmaxSumOut))
#define STATISTICS_LAYOUT_IN (Text, inputSoftmaxLayoutOptional)
RING_UPDATE(RingAttentionUpdate, , "")
RING_UPDATE(RingAttentionUpdateV2, STATISTICS_LAYOUT_IN, inputSoftmaxLayoutOptional)

#undef RING_UPDATE
#undef STATISTICS_LAYOUT_IN
