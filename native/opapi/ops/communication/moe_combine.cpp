// native/opapi/ops/communication/moe_combine.cpp
// Results of experts on their way back to the ranks of the tokens. A token's owner knows which rows come from where,
// since it knows the token's experts; so nothing that dispatch writes is needed but the counts.
#include "opapi/ops/common/low_precision.h"
#include "opapi/ops/common/refusal.h"
#include "opapi/ops/communication/expert_visits.h"

namespace {

RowCounts counts_from_sums(const at::Tensor& sums, const ExpertLayout& layout) {
  const int64_t experts = layout.local_experts(layout.rank);
  require(sums.numel() >= experts * layout.ranks, ACLNN_ERR_PARAM_INVALID, "epSendCounts has ", sums.numel(),
          " numbers; it must have at least ", experts * layout.ranks);
  const at::Tensor wide = sums.to(at::kLong).contiguous();
  const auto* sum = wide.const_data_ptr<int64_t>();
  RowCounts counts(static_cast<size_t>(layout.ranks), std::vector<int64_t>(static_cast<size_t>(experts)));
  int64_t before = 0;
  for (int64_t expert = 0; expert < experts; ++expert) {
    for (int64_t rank = 0; rank < layout.ranks; ++rank, ++sum) {
      require(*sum >= before, ACLNN_ERR_PARAM_INVALID, "epSendCounts falls from ", before, " to ", *sum,
              "; it must be what dispatch wrote: running sums");
      counts[static_cast<size_t>(rank)][static_cast<size_t>(expert)] = *sum - before;
      before = *sum;
    }
  }
  return counts;
}

struct Combine {
  const at::Tensor &rows, &ids, &counts, &weights;
  const OptionalTensor &mask, &shared_rows;
  // For experts without a rank.
  const OptionalTensor &tokens = kNone, &token_factors = kNone, &constant_factors = kNone, &constants = kNone;
};

// The results of experts without a rank, [tokens, choices, hidden] where `results` has them.
void add_rankless(const ExpertLayout& layout, const Combine& call, const at::Tensor& active, at::Tensor& results) {
  if (layout.everywhere() == layout.experts) return;
  const at::Tensor ids = call.ids.to(at::kLong);
  const int64_t first_copy = layout.experts + layout.zeros, first_constant = first_copy + layout.copies;
  const at::Tensor copied = active.logical_and((ids >= first_copy).logical_and_(ids < first_constant)).nonzero();
  const at::Tensor constant = active.logical_and(ids >= first_constant).nonzero();
  const auto put = [&](const at::Tensor& places, const at::Tensor& values) {
    results.index_put_({places.select(1, 0), places.select(1, 1)}, values);
  };
  if (copied.size(0) > 0) put(copied, to_float(*call.tokens).index_select(0, copied.select(1, 0)));
  if (constant.size(0) == 0) return;
  const at::Tensor expert = ids.index({constant.select(1, 0), constant.select(1, 1)}) - first_constant;
  const auto of_expert = [&](const OptionalTensor& values) {
    return to_float(*values).reshape({layout.constants, -1}).index_select(0, expert);
  };
  put(constant, of_expert(call.token_factors) * to_float(*call.tokens).index_select(0, constant.select(1, 0)) +
                    of_expert(call.constant_factors) * of_expert(call.constants));
}

void require_combine(const ExpertLayout& layout, const Combine& call) {
  const auto check = [](bool holds, auto... what) { require(holds, ACLNN_ERR_PARAM_INVALID, what...); };
  check(call.rows.dim() == 2 && call.ids.dim() == 2, "expandX and expertIds have the shapes ", call.rows.sizes(),
        " and ", call.ids.sizes(), "; allowed: two dimensions each");
  check(call.weights.numel() == 0 || call.weights.sizes() == call.ids.sizes(), "expertScales have the shape ",
        call.weights.sizes(), "; allowed: ", call.ids.sizes(), ", or no element");
  check(!given(call.shared_rows) || layout.shared_ranks == 0,
        "sharedExpertX is given; with ranks of shared experts it ", "must be null");
  const int64_t tokens = call.ids.size(0), columns = call.rows.size(1);
  check(!given(call.shared_rows) || call.shared_rows->numel() == tokens * columns, "sharedExpertX has the shape ",
        call.shared_rows ? call.shared_rows->sizes() : at::IntArrayRef(), "; it must have ", tokens * columns,
        " elements");
  check(!given(call.tokens) ||
            (call.tokens->dim() == 2 && call.tokens->size(0) == tokens && call.tokens->size(1) == columns),
        "oriX has the shape ", call.tokens ? call.tokens->sizes() : at::IntArrayRef(), "; it must be [", tokens, ", ",
        columns, "]");
  check(layout.copies + layout.constants == 0 || given(call.tokens), "oriX is null; with copyExpertNum or ",
        "constExpertNum it is needed");
  check(layout.constants == 0 || (given(call.token_factors) && given(call.constant_factors) && given(call.constants)),
        "constExpertAlpha1, constExpertAlpha2 or constExpertV is null; with constExpertNum they are needed");
  require_mask(call.mask, call.ids);
}

// Sums over each token's experts, [tokens, hidden] in float32.
at::Tensor combine(const RankGroup& ranks, const ExpertLayout& layout, const Combine& call) {
  const at::Tensor active = active_choices(call.mask, call.ids);
  const Visits visits = visits_of(layout, call.ids, active);
  const RowCounts back = row_counts(visits);                     // from the experts to this rank's tokens
  const RowCounts sent = counts_from_sums(call.counts, layout);  // from this rank's experts
  const at::Tensor order = order_by_expert(sent);
  require(order.numel() <= call.rows.size(0), ACLNN_ERR_PARAM_INVALID, "epSendCounts has ", order.numel(),
          " rows, but expandX ", call.rows.size(0));
  const at::Tensor own = call.rows.narrow(0, 0, order.numel());
  const at::Tensor by_rank = at::empty_like(own).index_copy_(0, order, own);
  const at::Tensor rows = to_float(exchange_rows(ranks, by_rank, rows_by_rank(sent), rows_by_rank(back)));
  const int64_t tokens = call.ids.size(0), choices = call.ids.size(1);
  at::Tensor results = at::zeros({tokens, choices + layout.shared, rows.size(1)}, at::kFloat);
  const at::Tensor token = numbers_of(visits, [](const Visit& visit) { return visit.token; });
  const at::Tensor choice = numbers_of(visits, [](const Visit& visit) { return visit.choice; });
  results.index_put_({token, choice}, rows);
  add_rankless(layout, call, active, results);
  if (call.weights.numel() > 0) results.narrow(1, 0, choices).mul_(to_float(call.weights).unsqueeze(-1));
  at::Tensor sums = results.sum(1);
  if (given(call.shared_rows)) sums.add_(to_float(*call.shared_rows).reshape(sums.sizes()));
  return sums;
}

struct Reserved {
  const OptionalTensor &tp_counts, &activation_scale, &weight_scale, &group_list;
  int64_t tp_size, tp_rank, shard, out_dtype, comm_quant_mode;
};

// CANN reads groupListType of no operator that combines, and its own programs pass 1.
void require_reserved(const Reserved& reserved) {
  refuse({{reserved.activation_scale, "activationScale"},
          {reserved.weight_scale, "weightScale"},
          {reserved.group_list, "groupList"}},
         "it is reserved");
  const auto zero = [](int64_t value, const char* name) {
    require(value == 0, ACLNN_ERR_PARAM_INVALID, name, " is ", value, "; allowed: 0");
  };
  zero(reserved.out_dtype, "outDtype");
  zero(reserved.comm_quant_mode, "commQuantMode");
}

void combine_into(const ExpertLayout& layout, const Combine& call, const Reserved& reserved, at::Tensor& out) {
  require_reserved(reserved);
  communicate(layout.group, [&](const RankGroup& ranks) {
    require_layout(layout, ranks, reserved.tp_size, reserved.tp_rank, reserved.shard);
    require_combine(layout, call);
    require_shape(out, {call.ids.size(0), call.rows.size(1)}, "x");
    assign(out, combine(ranks, layout, call));
  });
}

struct Norm {
  const at::Tensor &residual, &gamma;
  double epsilon;
  at::Tensor &y, &rstd, &x;
};

void require_norm(const Norm& norm, int64_t tokens, int64_t columns) {
  const auto require_elements = [](const at::Tensor& tensor, int64_t count, const char* name) {
    require(tensor.numel() == count, ACLNN_ERR_PARAM_INVALID, name, " has the shape ", tensor.sizes(),
            "; it must have ", count, " elements");
  };
  require_elements(norm.residual, tokens * columns, "residualX");
  require_elements(norm.gamma, columns, "gamma");
  require_elements(norm.x, tokens * columns, "xOut");
  require_elements(norm.y, tokens * columns, "yOut");
  require_elements(norm.rstd, tokens, "rstdOut");
}

void combine_add_norm(const ExpertLayout& layout, const Combine& call, const Reserved& reserved, const Norm& norm) {
  require_reserved(reserved);
  communicate(layout.group, [&](const RankGroup& ranks) {
    require_layout(layout, ranks, reserved.tp_size, reserved.tp_rank, reserved.shard);
    require_combine(layout, call);
    require_norm(norm, call.ids.size(0), call.rows.size(1));
    const at::Tensor sums = combine(ranks, layout, call);
    const at::Tensor x = sums + to_float(norm.residual).reshape(sums.sizes());
    const at::Tensor rstd = x.square().mean(-1, /*keepdim=*/true).add_(norm.epsilon).rsqrt_();
    assign(norm.x, x.view(norm.x.sizes()));
    assign(norm.rstd, rstd.view(norm.rstd.sizes()));
    assign(norm.y, (x * rstd * to_float(norm.gamma)).view(norm.y.sizes()));
  });
}

}  // namespace

#define OPWRIGHT_COMBINE_SETTINGS                                                                        \
  (Group, groupEp)(Int, epWorldSize)(Int, epRankId)(Int, moeExpertNum)(Text, groupTp)(Int, tpWorldSize)( \
      Int, tpRankId)(Int, expertShardType)(Int, sharedExpertNum)(Int, sharedExpertRankNum)
#define OPWRIGHT_COMBINE_RANKLESS (Int, zeroExpertNum)(Int, copyExpertNum)(Int, constExpertNum)
#define OPWRIGHT_COMBINE_LAYOUT groupEp, epWorldSize, epRankId, moeExpertNum, sharedExpertNum, sharedExpertRankNum

#define OPWRIGHT_COMBINE_ROWS_IN \
  (In, expandX)(In, expertIds)(In, assistInfoForCombine)(In, epSendCounts)(In, expertScales)
#define OPWRIGHT_COMBINE_RESERVED_IN                                                         \
  (OptIn, tpSendCountsOptional)(OptIn, xActiveMaskOptional)(OptIn, activationScaleOptional)( \
      OptIn, weightScaleOptional)(OptIn, groupListOptional)(OptIn, expandScalesOptional)
#define OPWRIGHT_COMBINE_RANKLESS_IN                                                   \
  (OptIn, elasticInfoOptional)(OptIn, oriXOptional)(OptIn, constExpertAlpha1Optional)( \
      OptIn, constExpertAlpha2Optional)(OptIn, constExpertVOptional)
#define OPWRIGHT_COMBINE_MODES (Int, globalBs)(Int, outDtype)(Int, commQuantMode)(Int, groupListType)
#define OPWRIGHT_COMBINE_RESERVED                 \
  {tpSendCountsOptional, activationScaleOptional, \
   weightScaleOptional,  groupListOptional,       \
   tpWorldSize,          tpRankId,                \
   expertShardType,      outDtype,                \
   commQuantMode}
#define OPWRIGHT_COMBINE_ROWS(SHARED, ...) \
  {expandX, expertIds, epSendCounts, expertScales, xActiveMaskOptional, SHARED __VA_ARGS__}
#define OPWRIGHT_COMBINE_RANKLESS_ROWS \
  , oriXOptional, constExpertAlpha1Optional, constExpertAlpha2Optional, constExpertVOptional
#define OPWRIGHT_COMBINE_RANKLESS_LAYOUT {OPWRIGHT_COMBINE_LAYOUT, zeroExpertNum, copyExpertNum, constExpertNum}

ACLNN(MoeDistributeCombine,
      OPWRIGHT_COMBINE_ROWS_IN OPWRIGHT_COMBINE_RESERVED_IN OPWRIGHT_COMBINE_SETTINGS OPWRIGHT_COMBINE_MODES(Out, xOut),
      combine_into({OPWRIGHT_COMBINE_LAYOUT}, OPWRIGHT_COMBINE_ROWS(kNone), OPWRIGHT_COMBINE_RESERVED, xOut))
ACLNN(MoeDistributeCombineV2,
      OPWRIGHT_COMBINE_ROWS_IN OPWRIGHT_COMBINE_RESERVED_IN(OptIn, sharedExpertXOptional)
          OPWRIGHT_COMBINE_SETTINGS OPWRIGHT_COMBINE_MODES(Text, commAlg)(Out, xOut),
      combine_into({OPWRIGHT_COMBINE_LAYOUT}, OPWRIGHT_COMBINE_ROWS(sharedExpertXOptional), OPWRIGHT_COMBINE_RESERVED,
                   xOut))
ACLNN(MoeDistributeCombineV3,
      OPWRIGHT_COMBINE_ROWS_IN OPWRIGHT_COMBINE_RESERVED_IN(OptIn, sharedExpertXOptional)
          OPWRIGHT_COMBINE_RANKLESS_IN OPWRIGHT_COMBINE_SETTINGS OPWRIGHT_COMBINE_MODES(Text, commAlg)
              OPWRIGHT_COMBINE_RANKLESS(Out, xOut),
      refuse({{elasticInfoOptional, "elasticInfo"}});
      combine_into(OPWRIGHT_COMBINE_RANKLESS_LAYOUT,
                   OPWRIGHT_COMBINE_ROWS(sharedExpertXOptional, OPWRIGHT_COMBINE_RANKLESS_ROWS),
                   OPWRIGHT_COMBINE_RESERVED, xOut))
ACLNN(MoeDistributeCombineV4,
      OPWRIGHT_COMBINE_ROWS_IN OPWRIGHT_COMBINE_RESERVED_IN(OptIn, sharedExpertXOptional)
          OPWRIGHT_COMBINE_RANKLESS_IN(OptIn, performanceInfoOptional)
              OPWRIGHT_COMBINE_SETTINGS OPWRIGHT_COMBINE_MODES(Text, commAlg) OPWRIGHT_COMBINE_RANKLESS(Out, xOut),
      refuse({{elasticInfoOptional, "elasticInfo"}, {performanceInfoOptional, "performanceInfo"}});
      combine_into(OPWRIGHT_COMBINE_RANKLESS_LAYOUT,
                   OPWRIGHT_COMBINE_ROWS(sharedExpertXOptional, OPWRIGHT_COMBINE_RANKLESS_ROWS),
                   OPWRIGHT_COMBINE_RESERVED, xOut))

#define OPWRIGHT_COMBINE_NORM_IN (In, residualX)(In, gamma)
#define OPWRIGHT_COMBINE_NORMED_OUT (Out, yOut)(Out, rstdOut)(Out, xOut)
#define OPWRIGHT_COMBINE_NORM {residualX, gamma, normEps, yOut, rstdOut, xOut}

ACLNN(MoeDistributeCombineAddRmsNorm,
      OPWRIGHT_COMBINE_ROWS_IN OPWRIGHT_COMBINE_NORM_IN OPWRIGHT_COMBINE_RESERVED_IN(OptIn, sharedExpertXOptional)
          OPWRIGHT_COMBINE_SETTINGS OPWRIGHT_COMBINE_MODES(Text, commAlg)(Float, normEps) OPWRIGHT_COMBINE_NORMED_OUT,
      combine_add_norm({OPWRIGHT_COMBINE_LAYOUT}, OPWRIGHT_COMBINE_ROWS(sharedExpertXOptional),
                       OPWRIGHT_COMBINE_RESERVED, OPWRIGHT_COMBINE_NORM))
ACLNN(MoeDistributeCombineAddRmsNormV2,
      OPWRIGHT_COMBINE_ROWS_IN OPWRIGHT_COMBINE_NORM_IN OPWRIGHT_COMBINE_RESERVED_IN(OptIn, sharedExpertXOptional)
          OPWRIGHT_COMBINE_RANKLESS_IN OPWRIGHT_COMBINE_SETTINGS OPWRIGHT_COMBINE_MODES(Text, commAlg)(Float, normEps)
              OPWRIGHT_COMBINE_RANKLESS OPWRIGHT_COMBINE_NORMED_OUT,
      refuse({{elasticInfoOptional, "elasticInfo"}});
      combine_add_norm(OPWRIGHT_COMBINE_RANKLESS_LAYOUT,
                       OPWRIGHT_COMBINE_ROWS(sharedExpertXOptional, OPWRIGHT_COMBINE_RANKLESS_ROWS),
                       OPWRIGHT_COMBINE_RESERVED, OPWRIGHT_COMBINE_NORM))

#undef OPWRIGHT_COMBINE_SETTINGS
#undef OPWRIGHT_COMBINE_RANKLESS
#undef OPWRIGHT_COMBINE_LAYOUT
#undef OPWRIGHT_COMBINE_ROWS_IN
#undef OPWRIGHT_COMBINE_RESERVED_IN
#undef OPWRIGHT_COMBINE_RANKLESS_IN
#undef OPWRIGHT_COMBINE_MODES
#undef OPWRIGHT_COMBINE_RESERVED
#undef OPWRIGHT_COMBINE_ROWS
#undef OPWRIGHT_COMBINE_RANKLESS_ROWS
#undef OPWRIGHT_COMBINE_RANKLESS_LAYOUT
#undef OPWRIGHT_COMBINE_NORM_IN
#undef OPWRIGHT_COMBINE_NORMED_OUT
#undef OPWRIGHT_COMBINE_NORM
