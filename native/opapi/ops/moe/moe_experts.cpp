// native/opapi/ops/moe/moe_experts.cpp
// Tables of experts: which device serves which, and tokens that arrived by device brought into their order.
#include "opapi/ops/moe/moe.h"

namespace {

using namespace opwright::opapi::moe;  // NOLINT: tables only

struct ReRouting {
  at::Tensor &tokens, &scales, &index, &counts;
};

// `numbers` [ranks, experts]: how many tokens came from each rank for each expert, one after the other.
void re_route(const at::Tensor& tokens, const at::Tensor& numbers, const OptionalTensor& scales, int64_t count_type,
              int64_t index_type, const ReRouting& out) {
  require((count_type == 0 || count_type == 1) && (index_type == 0 || index_type == 1), ACLNN_ERR_PARAM_INVALID,
          "parameters 'expertTokenNumType' and 'idxType' are ", count_type, " and ", index_type,
          "; allowed: 0 (cumulative) and 1 (counts), 0 (gather) and 1 (scatter)");
  require(numbers.dim() == 2 && numbers.sum().item<int64_t>() == tokens.size(0), ACLNN_ERR_PARAM_INVALID,
          "parameter 'expertTokenNumPerRank' has shape ", numbers.sizes(), " and sum ", numbers.sum().item<int64_t>(),
          "; it must be [ranks, experts] and count all ", tokens.size(0), " tokens");
  const at::Tensor experts = at::arange(numbers.size(1), at::kLong).repeat({numbers.size(0)});
  const at::Tensor order = sorted_order(experts.repeat_interleave(numbers.flatten()));
  assign(out.tokens, tokens.index_select(0, order));
  if (scales) assign(out.scales, scales->index_select(0, order));
  assign(out.index, index_type == 0 ? order : inverse_order(order));
  const at::Tensor counts = numbers.sum(0);
  assign(out.counts, count_type == 0 ? counts.cumsum(0) : counts);
}

struct Placement {
  int64_t rank, world_size, mode;  // mode 0: by rank, 1: by token
};

// A row of `table` is the number of an expert's copies and where each is.
at::Tensor placed(const at::Tensor& experts, const at::Tensor& table, const Placement& placement) {
  require(placement.mode == 0 || placement.mode == 1, ACLNN_ERR_PARAM_INVALID, "parameter 'balanceMode' is ",
          placement.mode, "; allowed: 0 (by rank), 1 (by token)");
  require(placement.mode == 1 || (placement.rank >= 0 && placement.rank < placement.world_size),
          ACLNN_ERR_PARAM_INVALID, "parameters 'localRankId' and 'worldSize' are ", placement.rank, " and ",
          placement.world_size, "; the rank must be below the size");
  require(experts.dim() == 2 && table.dim() == 2, ACLNN_ERR_PARAM_INVALID, "expertIds and eplbTable have shapes ",
          experts.sizes(), " and ", table.sizes(), "; both must be matrices");
  const at::Tensor rows = table.to(at::kLong).index_select(0, experts.flatten()), copies = rows.select(1, 0);
  at::Tensor choice;
  if (placement.mode == 0) {
    const at::Tensor ranks_of_copy = (copies + (placement.world_size - 1)).floor_divide(copies);  // rounded up
    choice = at::full_like(copies, placement.rank).floor_divide(ranks_of_copy);
  } else {
    choice = at::arange(experts.size(0), at::kLong).repeat_interleave(experts.size(1)).remainder(copies);
  }
  return rows.gather(1, (choice + 1).unsqueeze(1)).view(experts.sizes());
}

// A choice is kept if its scale reaches its share of the sum of its token's scales, and the token is active.
void update_experts(const at::Tensor& experts, const at::Tensor& table, const OptionalTensor& scales,
                    const OptionalTensor& threshold, const OptionalTensor& active, const Placement& placement,
                    at::Tensor& experts_out, at::Tensor& active_out) {
  require(scales.has_value() == threshold.has_value() && (!active || scales), ACLNN_ERR_PARAM_INVALID,
          "parameters 'expertScales' and 'pruningThreshold' must both be given, or neither; 'activeMask' needs them");
  assign(experts_out, placed(experts, table, placement));
  if (!scales) return;
  const at::Tensor wide = scales->to(at::kFloat);
  at::Tensor kept = wide >= wide.sum(1, /*keepdim=*/true) * threshold->reshape({1, -1}).to(at::kFloat);
  assign(active_out, active ? kept.logical_and(active->unsqueeze(1)) : kept);
}

}  // namespace

ACLNN(MoeReRouting,
      (In, tokens)(Index, expertTokenNumPerRank)(OptIn, perTokenScalesOptional)(Int, expertTokenNumType)(Int, idxType)(
          Out, permuteTokensOut)(OptOut, permutePerTokenScalesOut)(OutIndex, permuteTokenIdxOut)(OutIndex,
                                                                                                 expertTokenNumOut),
      re_route(tokens, expertTokenNumPerRank, perTokenScalesOptional, expertTokenNumType, idxType,
               {permuteTokensOut, permutePerTokenScalesOut, permuteTokenIdxOut, expertTokenNumOut}))
ACLNN(MoeUpdateExpert,
      (Index, expertIds)(Index, eplbTable)(OptIn, expertScalesOptional)(OptIn,
                                                                        pruningThresholdOptional)(OptIn,
                                                                                                  activeMaskOptional)(
          Int, localRankId)(Int, worldSize)(Int, balanceMode)(OutIndex, balancedExpertIds)(OptOut, balancedActiveMask),
      update_experts(expertIds, eplbTable, expertScalesOptional, pruningThresholdOptional, activeMaskOptional,
                     {localRankId, worldSize, balanceMode}, balancedExpertIds, balancedActiveMask))
