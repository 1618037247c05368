// native/opapi/ops/communication/moe_dispatch.cpp
// Tokens that travel to the ranks of their experts.
#include "opapi/ops/common/low_precision.h"
#include "opapi/ops/common/refusal.h"
#include "opapi/ops/communication/expert_visits.h"

namespace {

constexpr int64_t kDynamicQuantization = 2;

// The numbers of rows that the other ranks send to the experts of this one.
RowCounts exchange_counts(const RankGroup& ranks, const ExpertLayout& layout, const RowCounts& sent) {
  std::vector<int64_t> numbers, to, from;
  for (const auto& experts : sent) {
    numbers.insert(numbers.end(), experts.begin(), experts.end());
    to.push_back(static_cast<int64_t>(experts.size()));
    from.push_back(layout.local_experts(layout.rank));
  }
  const at::Tensor own = at::tensor(numbers, at::kLong);
  const at::Tensor theirs = exchange_rows(ranks, own, to, from);
  const auto* next = theirs.const_data_ptr<int64_t>();
  RowCounts received;
  for (const int64_t experts : from) {
    received.emplace_back(next, next + experts);
    next += experts;
  }
  return received;
}

// Running sums over the experts of this rank and, for each, the ranks.
std::vector<int64_t> running_counts(const RowCounts& received) {
  std::vector<int64_t> sums;
  int64_t sum = 0;
  for (size_t expert = 0; expert < received.front().size(); ++expert) {
    for (const auto& experts : received) sums.push_back(sum += experts[expert]);
  }
  return sums;
}

// Writes rows, or numbers, at the beginning of an output with room for more; the rest is zero.
void fill(at::Tensor& out, const at::Tensor& values, const char* name) {
  require(values.size(0) <= out.size(0), ACLNN_ERR_PARAM_INVALID, name, " has room for ", out.size(0), ", but ",
          values.size(0), " arrive; it must have room for the tokens of all ranks");
  out.narrow(0, 0, values.size(0)).copy_(values);
  out.narrow(0, values.size(0), out.size(0) - values.size(0)).zero_();
}

// The same for an output that callers leave out or give no elements.
void fill_wanted(at::Tensor& out, const at::Tensor& values, const char* name) {
  if (out.defined() && out.numel() > 0) fill(out, values, name);
}

struct Dispatched {
  at::Tensor &rows, &scales, &info, &expert_counts, &rank_counts, &weights;
};

struct Dispatch {
  const at::Tensor &x, &ids;
  const OptionalTensor &smooth, &mask, &weights;
  int64_t quant_mode, counts_type;
  bool numbers_of_expert;  // of the first version: info is [tokens * choices]
};

// Rows of eight bits with their scales, one for each.
struct Quantized {
  at::Tensor rows, scales;
};

Quantized quantize(const at::Tensor& rows) {
  const LowFormat& format = low_format(ACL_INT8);
  const at::Tensor scales = rows.abs().amax(-1, /*keepdim=*/true) / format.highest;
  const at::Tensor codes = rounded(rows / scales.masked_fill(scales == 0, 1), format);
  return {codes.to(at::kChar), scales.squeeze(-1)};
}

// The factors of each visit's expert: a row for each shared expert, then one for each of the mixture.
at::Tensor smoothing_of(const ExpertLayout& layout, const Dispatch& call, const Visits& visits,
                        const at::Tensor& tokens) {
  const int64_t choices = call.ids.size(1);
  const at::Tensor ids = call.ids.to(at::kLong).contiguous();
  const auto id = ids.accessor<int64_t, 2>();
  const bool with_shared = call.smooth->size(0) == layout.experts + layout.shared && layout.shared_ranks > 0;
  const at::Tensor row = numbers_of(visits, [&](const Visit& visit) {
    if (visit.choice >= choices) return visit.choice - choices;
    return id[visit.token][visit.choice] + (with_shared ? layout.shared : 0);
  });
  return tokens * to_float(*call.smooth).index_select(0, row);
}

// For each choice, how many earlier ones of this rank have the same expert.
at::Tensor numbers_in_expert(const Visits& visits, const at::Tensor& ids) {
  at::Tensor numbers = at::zeros({ids.numel()}, at::kInt);
  auto* number = numbers.mutable_data_ptr<int32_t>();
  const int64_t choices = ids.size(1);
  for (const auto& experts : visits) {
    for (const auto& of_expert : experts) {
      for (size_t i = 0; i < of_expert.size(); ++i) {
        const Visit& visit = of_expert[i];
        if (visit.choice < choices) number[visit.token * choices + visit.choice] = static_cast<int32_t>(i);
      }
    }
  }
  return numbers;
}

void require_dispatch(const ExpertLayout& layout, const Dispatch& call, const Dispatched& out) {
  const auto check = [](bool holds, auto... what) { require(holds, ACLNN_ERR_PARAM_INVALID, what...); };
  check(call.x.dim() == 2 && call.ids.dim() == 2 && call.x.size(0) == call.ids.size(0), "x and expertIds have the ",
        "shapes ", call.x.sizes(), " and ", call.ids.sizes(), "; allowed: [tokens, hidden] and [tokens, choices]");
  check(call.quant_mode == 0 || call.quant_mode == kDynamicQuantization, "quantMode is ", call.quant_mode,
        "; allowed: 0 (none), 2 (by token); the others are of Ascend950 alone");
  check(call.counts_type == 0 || call.counts_type == 1, "expertTokenNumsType is ", call.counts_type,
        "; allowed: 0 (running sums), 1 (counts)");
  check(out.rows.dim() == 2 && out.rows.size(1) == call.x.size(1), "expandX has the shape ", out.rows.sizes(),
        "; it must have the ", call.x.size(1), " columns of x");
  check(out.rows.scalar_type() == (call.quant_mode == 0 ? call.x.scalar_type() : at::kChar), "expandX is ",
        out.rows.scalar_type(), "; with this quantMode it must be ",
        call.quant_mode == 0 ? call.x.scalar_type() : at::kChar);
  check(out.expert_counts.numel() == layout.local_experts(layout.rank), "expertTokenNums has ",
        out.expert_counts.numel(), " numbers; it must have one for each of the ", layout.local_experts(layout.rank),
        " experts of this rank");
  check(!given(call.smooth) || call.quant_mode == kDynamicQuantization, "scales are given; without quantization it ",
        "must be null");
  check(!given(call.smooth) || (call.smooth->dim() == 2 && call.smooth->size(1) == call.x.size(1) &&
                                call.smooth->size(0) >= layout.experts),
        "scales have the shape ", call.smooth ? call.smooth->sizes() : at::IntArrayRef(), "; allowed: [experts, ",
        call.x.size(1), "]");
  check(!given(call.weights) || call.weights->sizes() == call.ids.sizes(), "expertScales have another shape than ",
        "expertIds, ", call.ids.sizes());
  check(call.quant_mode == 0 || out.scales.defined(), "dynamicScales is null; with this quantMode it is needed");
  require_mask(call.mask, call.ids);
}

void dispatch(const ExpertLayout& layout, const Dispatch& call, int64_t tp_size, int64_t tp_rank, int64_t shard,
              Dispatched out) {
  communicate(layout.group, [&](const RankGroup& ranks) {
    require_layout(layout, ranks, tp_size, tp_rank, shard);
    require_dispatch(layout, call, out);
    const Visits visits = visits_of(layout, call.ids, active_choices(call.mask, call.ids));
    const RowCounts sent = row_counts(visits);
    const RowCounts received = exchange_counts(ranks, layout, sent);
    const at::Tensor order = order_by_expert(received);
    const auto exchange = [&](const at::Tensor& values) {
      return exchange_rows(ranks, values, rows_by_rank(sent), rows_by_rank(received)).index_select(0, order);
    };
    const at::Tensor token = numbers_of(visits, [](const Visit& visit) { return visit.token; });
    const at::Tensor rows = call.x.index_select(0, token);
    if (call.quant_mode == kDynamicQuantization) {
      const at::Tensor values = to_float(rows);
      const Quantized quantized = quantize(given(call.smooth) ? smoothing_of(layout, call, visits, values) : values);
      fill(out.rows, exchange(quantized.rows), "expandX");
      fill(out.scales, exchange(quantized.scales), "dynamicScales");
    } else {
      fill(out.rows, exchange(rows), "expandX");
    }
    // A rank without tokens has weights without elements.
    if (call.weights && (call.weights->numel() > 0 || call.ids.numel() == 0)) {
      const at::Tensor flat = to_float(*call.weights).flatten();
      const int64_t choices = call.ids.size(1);
      const at::Tensor place = numbers_of(visits, [&](const Visit& visit) {
        return visit.choice < choices ? visit.token * choices + visit.choice : flat.numel();
      });
      fill_wanted(out.weights, exchange(at::cat({flat, at::ones({1})}).index_select(0, place)), "expandScales");
    }
    // The numbers of a row are inferred: rank, token and choice, in the first version the number within the expert.
    if (call.numbers_of_expert) {
      fill_wanted(out.info, numbers_in_expert(visits, call.ids), "expandIdx");
    } else {
      const at::Tensor choice = numbers_of(visits, [](const Visit& visit) { return visit.choice; });
      const at::Tensor info = at::stack({at::full_like(token, layout.rank), token, choice}, 1).to(at::kInt);
      fill_wanted(out.info, exchange(info).flatten(), "assistInfoForCombine");
    }
    const at::Tensor counts = at::tensor(rows_by_expert(received), at::kLong);
    assign(out.expert_counts, call.counts_type == 0 ? counts.cumsum(0) : counts);
    fill(out.rank_counts, at::tensor(running_counts(received), at::kInt), "epRecvCounts");
  });
}

}  // namespace

#define OPWRIGHT_DISPATCH_SETTINGS                                                                       \
  (Group, groupEp)(Int, epWorldSize)(Int, epRankId)(Int, moeExpertNum)(Text, groupTp)(Int, tpWorldSize)( \
      Int, tpRankId)(Int, expertShardType)(Int, sharedExpertNum)(Int, sharedExpertRankNum)
#define OPWRIGHT_DISPATCH_RANKLESS (Int, zeroExpertNum)(Int, copyExpertNum)(Int, constExpertNum)
#define OPWRIGHT_DISPATCH_LAYOUT groupEp, epWorldSize, epRankId, moeExpertNum, sharedExpertNum, sharedExpertRankNum

// Dispatch. globalBs is the capacity of buffers that the device sets aside.
#define OPWRIGHT_DISPATCH_TOKENS_IN \
  (In, x)(In, expertIds)(OptIn, scalesOptional)(OptIn, xActiveMaskOptional)(OptIn, expertScalesOptional)
#define OPWRIGHT_DISPATCH_MODES (Int, quantMode)(Int, globalBs)(Int, expertTokenNumsType)
#define OPWRIGHT_DISPATCH_ROWS_OUT                                                                    \
  (Out, expandXOut)(OptOut, dynamicScalesOut)(Out, assistInfoForCombineOut)(Out, expertTokenNumsOut)( \
      Out, epRecvCountsOut)(OptOut, tpRecvCountsOut)(OptOut, expandScalesOut)
#define OPWRIGHT_DISPATCH(FIRST_VERSION, ...)                                                                   \
  dispatch(                                                                                                     \
      {__VA_ARGS__},                                                                                            \
      {x, expertIds, scalesOptional, xActiveMaskOptional, expertScalesOptional, quantMode, expertTokenNumsType, \
       FIRST_VERSION},                                                                                          \
      tpWorldSize, tpRankId, expertShardType,                                                                   \
      {expandXOut, dynamicScalesOut, assistInfoForCombineOut, expertTokenNumsOut, epRecvCountsOut, expandScalesOut})

ACLNN(MoeDistributeDispatch,
      OPWRIGHT_DISPATCH_TOKENS_IN OPWRIGHT_DISPATCH_SETTINGS OPWRIGHT_DISPATCH_MODES OPWRIGHT_DISPATCH_ROWS_OUT,
      OPWRIGHT_DISPATCH(true, OPWRIGHT_DISPATCH_LAYOUT))
ACLNN(MoeDistributeDispatchV2,
      OPWRIGHT_DISPATCH_TOKENS_IN OPWRIGHT_DISPATCH_SETTINGS OPWRIGHT_DISPATCH_MODES(Text, commAlg)
          OPWRIGHT_DISPATCH_ROWS_OUT,
      OPWRIGHT_DISPATCH(false, OPWRIGHT_DISPATCH_LAYOUT))
ACLNN(MoeDistributeDispatchV3,
      OPWRIGHT_DISPATCH_TOKENS_IN(OptIn, elasticInfoOptional)
          OPWRIGHT_DISPATCH_SETTINGS OPWRIGHT_DISPATCH_MODES(Text, commAlg)
              OPWRIGHT_DISPATCH_RANKLESS OPWRIGHT_DISPATCH_ROWS_OUT,
      refuse({{elasticInfoOptional, "elasticInfo"}});
      OPWRIGHT_DISPATCH(false, OPWRIGHT_DISPATCH_LAYOUT, zeroExpertNum, copyExpertNum, constExpertNum))
ACLNN(MoeDistributeDispatchV4,
      OPWRIGHT_DISPATCH_TOKENS_IN(OptIn, elasticInfoOptional)(OptIn, performanceInfoOptional)
          OPWRIGHT_DISPATCH_SETTINGS OPWRIGHT_DISPATCH_MODES(Text, commAlg)
              OPWRIGHT_DISPATCH_RANKLESS OPWRIGHT_DISPATCH_ROWS_OUT,
      refuse({{elasticInfoOptional, "elasticInfo"}, {performanceInfoOptional, "performanceInfo"}});
      OPWRIGHT_DISPATCH(false, OPWRIGHT_DISPATCH_LAYOUT, zeroExpertNum, copyExpertNum, constExpertNum))

#undef OPWRIGHT_DISPATCH_SETTINGS
#undef OPWRIGHT_DISPATCH_RANKLESS
#undef OPWRIGHT_DISPATCH_LAYOUT
#undef OPWRIGHT_DISPATCH_TOKENS_IN
#undef OPWRIGHT_DISPATCH_MODES
#undef OPWRIGHT_DISPATCH_ROWS_OUT
#undef OPWRIGHT_DISPATCH
