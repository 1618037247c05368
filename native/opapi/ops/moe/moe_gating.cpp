// native/opapi/ops/moe/moe_gating.cpp
// Which experts each token goes to. Among equal scores the expert with the lower number comes first.
#include <limits>

#include "opapi/ops/moe/moe.h"

namespace opwright::opapi::kind {

using UInt32 = Plain<uint32_t>;  // MoeFusedTopk alone has them

}  // namespace opwright::opapi::kind

namespace {

using namespace opwright::opapi::moe;  // NOLINT: tables only

constexpr double kSinkhornTolerance = 0.0001;  // where none is given

constexpr int64_t kMostExperts = 1024;  // a token's choice; documented for the softmax forms

struct Choice {
  at::Tensor scores, experts;
};

Choice highest(const at::Tensor& scores, int64_t k) {
  const auto [sorted, order] = at::sort(scores, /*stable=*/true, -1, /*descending=*/true);
  return {sorted.narrow(-1, 0, k), order.narrow(-1, 0, k)};
}

void check_choice(const at::Tensor& x, int64_t k) {
  require(x.dim() > 0 && k >= 0 && k <= std::min(x.size(-1), kMostExperts), ACLNN_ERR_PARAM_INVALID,
          "parameter 'k' is ", k, "; it must be between 0 and the number of experts, at most ", kMostExperts,
          ", but x has shape ", x.sizes());
}

// The experts of rows that are finished get the number behind the last one.
void gate_softmax(const at::Tensor& x, const OptionalTensor& finished, int64_t k, bool softmax_last, at::Tensor& y,
                  at::Tensor& experts, at::Tensor* softmax_out) {
  check_choice(x, k);
  const at::Tensor scores = softmax_last ? x.to(at::kFloat) : at::softmax(x, -1, at::kFloat);
  const Choice choice = highest(scores, k);
  assign(y, softmax_last ? at::softmax(choice.scores, -1) : choice.scores);
  assign(experts, finished ? choice.experts.masked_fill(finished->unsqueeze(-1), x.size(-1)) : choice.experts);
  if (softmax_out != nullptr && !softmax_last) assign(*softmax_out, scores);
}

// Places count column by column: those of all rows' first expert come before those of the second.
void number_by_column(at::Tensor& rows) {
  const int64_t columns = rows.size(-1), count = columns == 0 ? 0 : rows.numel() / columns;
  rows.copy_(at::arange(rows.numel(), at::kInt).view({columns, count}).t().reshape(rows.sizes()));
}

void gate_softmax_v2(const at::Tensor& x, const OptionalTensor& finished, int64_t k, int64_t renorm, bool wants_softmax,
                     at::Tensor& y, at::Tensor& experts, at::Tensor& softmax_out) {
  require(renorm == 0 || renorm == 1, ACLNN_ERR_PARAM_INVALID, "parameter 'renorm' is ", renorm,
          "; allowed: 0 (softmax first), 1 (top-k first)");
  gate_softmax(x, finished, k, renorm == 1, y, experts, wants_softmax ? &softmax_out : nullptr);
}

// The forms with groups of experts, and what their y is made of.
struct Gate {
  int64_t k, kept_groups, groups, group_mode;
  int64_t renorm, norm_type;  // 0: softmax, 1: sigmoid, 2: root of softplus
  double factor, eps;

  bool divides() const { return norm_type != 0 || renorm != 0; }
};

void check_gate(const Gate& gate) {
  require(gate.norm_type >= 0 && gate.norm_type <= 2, ACLNN_ERR_PARAM_INVALID, "parameter 'normType' is ",
          gate.norm_type, "; allowed: 0 (softmax), 1 (sigmoid), 2 (root of softplus)");
  require(gate.renorm == 0 || gate.renorm == 1, ACLNN_ERR_PARAM_INVALID, "parameter 'renorm' is ", gate.renorm,
          "; allowed: 0, 1");
}

at::Tensor normalized(const at::Tensor& x, int64_t norm_type) {
  if (norm_type == 0) return at::softmax(x, -1, at::kFloat);
  return norm_type == 1 ? at::sigmoid(x.to(at::kFloat)) : at::softplus(x.to(at::kFloat)).sqrt_();
}

// Scores of all experts outside the best groups become -inf.
at::Tensor within_groups(const at::Tensor& scores, const Gate& gate) {
  if (gate.groups <= 1) return scores;
  const int64_t size = scores.size(-1) / gate.groups;
  const at::Tensor grouped = scores.view({-1, gate.groups, size});
  const at::Tensor group_scores = gate.group_mode == 0 ? grouped.amax(-1) : std::get<0>(grouped.topk(2)).sum(-1);
  const at::Tensor hidden =
      at::ones_like(group_scores, at::kBool).scatter_(-1, highest(group_scores, gate.kept_groups).experts, false);
  return grouped.masked_fill(hidden.unsqueeze(-1), -std::numeric_limits<float>::infinity()).view(scores.sizes());
}

void check_groups(const at::Tensor& x, const Gate& gate) {
  const int64_t experts = x.size(-1);
  require(gate.groups > 0 && experts % gate.groups == 0 && (gate.group_mode == 0 || gate.group_mode == 1) &&
              experts / gate.groups > gate.group_mode,
          ACLNN_ERR_PARAM_INVALID, "parameters 'groupCount' and 'groupSelectMode' are ", gate.groups, " and ",
          gate.group_mode, "; the groups must divide the ", experts,
          " experts, and the mode is 0 (maximum) or 1 (sum of the two highest)");
  require(gate.kept_groups >= 1 && gate.kept_groups <= gate.groups, ACLNN_ERR_PARAM_INVALID, "parameter 'kGroup' is ",
          gate.kept_groups, "; it must be between 1 and groupCount, ", gate.groups);
  const int64_t most = gate.groups > 1 ? experts / gate.groups * gate.kept_groups : experts;
  require(gate.k >= 1 && gate.k <= most, ACLNN_ERR_PARAM_INVALID, "parameter 'k' is ", gate.k,
          "; it must be between 1 and the experts of the chosen groups, ", most);
}

// The experts that a table gives to each token.
at::Tensor looked_up(const at::Tensor& table, const at::Tensor& ids, const at::Tensor& x, int64_t k) {
  require(table.dim() == 2 && table.size(1) == k && ids.dim() == 1 && ids.size(0) == x.size(0), ACLNN_ERR_PARAM_INVALID,
          "parameters 'tid2eid' and 'inputIds' have shapes ", table.sizes(), " and ", ids.sizes(),
          "; they must be [keys, ", k, "] and [", x.size(0), "]");
  return table.index_select(0, ids);
}

void gate_groups(const at::Tensor& x, const OptionalTensor& bias, const OptionalTensor& ids,
                 const OptionalTensor& table, const Gate& gate, at::Tensor& y, at::Tensor& experts_out,
                 at::Tensor* norm_out) {
  require(x.dim() == 2, ACLNN_ERR_PARAM_INVALID, "parameter 'x' has shape ", x.sizes(), "; it must be [rows, experts]");
  require(ids.has_value() == table.has_value(), ACLNN_ERR_PARAM_INVALID,
          "parameters 'inputIds' and 'tid2eid' must both be given, or neither");
  check_gate(gate);
  check_groups(x, gate);
  const at::Tensor norm = normalized(x, gate.norm_type);
  const at::Tensor experts =
      table ? looked_up(*table, *ids, x, gate.k)
            : highest(within_groups(bias ? norm + bias->to(at::kFloat) : norm, gate), gate.k).experts;
  at::Tensor scores = norm.gather(-1, experts);
  if (gate.divides()) scores = scores / (scores.sum(-1, /*keepdim=*/true) + gate.eps);
  assign(y, scores * gate.factor);
  assign(experts_out, experts);
  if (norm_out != nullptr) assign(*norm_out, norm);
}

void gate_backward(const at::Tensor& norm, const at::Tensor& grad, const at::Tensor& experts, const Gate& gate,
                   at::Tensor& out) {
  check_gate(gate);
  const at::Tensor wide = norm.to(at::kFloat), scores = wide.gather(-1, experts);
  at::Tensor chosen = grad.to(at::kFloat) * gate.factor;
  if (gate.divides()) {
    const at::Tensor divisor = scores.sum(-1, /*keepdim=*/true) + gate.eps;
    chosen = (chosen - (chosen * scores).sum(-1, /*keepdim=*/true) / divisor) / divisor;
  }
  const at::Tensor inner = at::zeros_like(wide).scatter_add_(-1, experts, chosen);
  if (gate.norm_type == 0) {
    assign(out, wide * (inner - (inner * wide).sum(-1, /*keepdim=*/true)));
  } else if (gate.norm_type == 1) {
    assign(out, inner * wide * (1 - wide));
  } else {
    assign(out, inner * (1 - (-wide * wide).exp()) / (2 * wide));  // the sigmoid of x over twice the root
  }
}

// The form with unsigned numbers. An expert outside of the kept groups keeps its place with the score 0.
struct FusedTopk {
  int64_t groups, kept_groups, summed, k;
  bool norm, mapping;
  double scale;
};

constexpr int64_t kMostGroups = 256, kMostMapped = 128;  // documented

void check_fused_topk(const at::Tensor& x, const at::Tensor& bias, int64_t activation, const FusedTopk& gate) {
  require(x.dim() == 2 && bias.dim() == 1 && bias.size(0) == x.size(1) && bias.scalar_type() == x.scalar_type(),
          ACLNN_ERR_PARAM_INVALID, "parameters 'x' and 'addNum' are ", x.scalar_type(), " ", x.sizes(), " and ",
          bias.scalar_type(), " ", bias.sizes(), "; they must be [tokens, experts] and [experts] of one dtype");
  require(x.scalar_type() == at::kFloat || kind::is_half(x.scalar_type()), ACLNN_ERR_PARAM_INVALID, "parameter 'x' is ",
          x.scalar_type(), "; allowed: float32, float16, bfloat16");
  require(activation == 0, ACLNN_ERR_PARAM_INVALID, "parameter 'activateType' is ", activation,
          "; allowed: 0 (sigmoid)");
  const int64_t experts = x.size(1);
  require(experts <= kMostExperts, ACLNN_ERR_PARAM_INVALID, "parameter 'x' has ", experts,
          " experts; allowed: at most ", kMostExperts);
  require(gate.groups > 0 && gate.groups <= kMostGroups && experts % gate.groups == 0, ACLNN_ERR_PARAM_INVALID,
          "parameter 'groupNum' is ", gate.groups, "; it must be between 1 and ", kMostGroups, " and divide the ",
          experts, " experts");
  require(gate.kept_groups > 0 && gate.kept_groups <= gate.groups, ACLNN_ERR_PARAM_INVALID, "parameter 'groupTopk' is ",
          gate.kept_groups, "; it must be between 1 and groupNum, ", gate.groups);
  require(gate.summed > 0 && gate.summed <= experts / gate.groups, ACLNN_ERR_PARAM_INVALID, "parameter 'topN' is ",
          gate.summed, "; it must be between 1 and the experts of a group, ", experts / gate.groups);
  require(gate.k > 0 && gate.k <= experts, ACLNN_ERR_PARAM_INVALID, "parameter 'topK' is ", gate.k,
          "; it must be between 1 and the experts, ", experts);
}

void check_mapping(const at::Tensor& x, const OptionalTensor& counts, const OptionalTensor& table) {
  require(counts.has_value() && table.has_value(), ACLNN_ERR_PARAM_NULLPTR, "parameter '",
          counts ? "mappingTable" : "mappingNum", "' is null, but enableExpertMapping requires it");
  require(counts->scalar_type() == at::kInt && table->scalar_type() == at::kInt, ACLNN_ERR_PARAM_INVALID,
          "parameters 'mappingNum' and 'mappingTable' are ", counts->scalar_type(), " and ", table->scalar_type(),
          "; allowed: int32");
  require(counts->dim() == 1 && counts->size(0) == x.size(1) && table->dim() == 2 && table->size(0) == x.size(1) &&
              table->size(1) >= 1 && table->size(1) <= kMostMapped,
          ACLNN_ERR_PARAM_INVALID, "parameters 'mappingNum' and 'mappingTable' have shapes ", counts->sizes(), " and ",
          table->sizes(), "; they must be [", x.size(1), "] and [", x.size(1), ", 1 to ", kMostMapped, "]");
}

// The tokens take the places of an expert in turn.
at::Tensor mapped(const at::Tensor& experts, const at::Tensor& counts, const at::Tensor& table) {
  const at::Tensor wrong = counts.masked_select((counts < 0).logical_or_(counts > table.size(1)));
  require(wrong.numel() == 0, ACLNN_ERR_PARAM_INVALID,
          "parameter 'mappingNum' has an element outside of 0 and the columns of mappingTable, ", table.size(1));
  const at::Tensor tokens = at::arange(experts.size(0), at::kLong).unsqueeze(1);
  const at::Tensor places = tokens.remainder(counts.to(at::kLong).clamp_min(1).index({experts}));
  return table.index({experts, places});
}

void fused_topk(const at::Tensor& x, const at::Tensor& bias, const OptionalTensor& counts, const OptionalTensor& table,
                int64_t activation, const FusedTopk& gate, at::Tensor& y, at::Tensor& experts_out) {
  require(y.scalar_type() == at::kFloat && experts_out.scalar_type() == at::kInt, ACLNN_ERR_PARAM_INVALID,
          "parameters 'y' and 'indices' are ", y.scalar_type(), " and ", experts_out.scalar_type(),
          "; they must be float32 and int32");
  check_fused_topk(x, bias, activation, gate);
  if (gate.mapping) check_mapping(x, counts, table);
  const at::Tensor norm = at::sigmoid(x.to(at::kFloat));
  const at::Tensor grouped = (norm + bias.to(at::kFloat)).view({-1, gate.groups, x.size(1) / gate.groups});
  const at::Tensor sums = std::get<0>(grouped.topk(gate.summed)).sum(-1);
  const at::Tensor hidden = at::ones_like(sums, at::kBool).scatter_(-1, highest(sums, gate.kept_groups).experts, false);
  const at::Tensor experts = highest(grouped.masked_fill(hidden.unsqueeze(-1), 0).view(norm.sizes()), gate.k).experts;
  at::Tensor scores = norm.gather(-1, experts);
  if (gate.norm) scores = scores / scores.sum(-1, /*keepdim=*/true) * gate.scale;
  assign(y, scores);
  assign(experts_out, gate.mapping ? mapped(experts, *counts, *table) : experts);
}

// Rows and columns are scaled in turn until they have equal sums, to which the columns' factors are compared.
void sinkhorn(const at::Tensor& cost, double tolerance, at::Tensor& out) {
  require(cost.dim() == 2, ACLNN_ERR_PARAM_INVALID, "cost has ", cost.dim(), " dimensions; allowed: 2");
  require(tolerance > 0, ACLNN_ERR_PARAM_INVALID, "tol is ", tolerance, "; allowed: more than 0");
  constexpr double kSmall = 1e-8;
  const at::Tensor weights = cost.to(at::kFloat).exp();
  const auto rows = static_cast<double>(cost.size(0)), columns = static_cast<double>(cost.size(1));
  at::Tensor by_row, by_column = at::ones({cost.size(1)}, at::kFloat);
  double error = kInfinity, before = kInfinity;
  do {
    before = error;
    by_row = ((weights * by_column).sum(1) + kSmall).mul_(rows).reciprocal_();
    const at::Tensor next = ((weights * by_row.unsqueeze(1)).sum(0) + kSmall).mul_(columns).reciprocal_();
    error = (by_column - next).abs().mean().item<double>();
    by_column = next;
  } while (error > tolerance && error < before);  // float32 has its limits
  assign(out, weights * by_column * by_row.unsqueeze(1));
}

}  // namespace

ACLNN(MoeGatingTopKSoftmax, (In, x)(OptIn, finishedOptional)(Int, k)(Out, yOut)(OutIndex, expertIdxOut)(Out, rowIdxOut),
      gate_softmax(x, finishedOptional, k, false, yOut, expertIdxOut, nullptr);
      number_by_column(rowIdxOut))
ACLNN(MoeGatingTopKSoftmaxV2,
      (In, x)(OptIn, finishedOptional)(Int, k)(Int, renorm)(Bool, outputSoftmaxResultFlag)(Out, yOut)(
          OutIndex, expertIdxOut)(OptOut, softmaxResultOutOptional),
      gate_softmax_v2(x, finishedOptional, k, renorm, outputSoftmaxResultFlag, yOut, expertIdxOut,
                      softmaxResultOutOptional))

#define GATE_PARAMS                                                                                        \
  (Int, k)(Int, kGroup)(Int, groupCount)(Int, groupSelectMode)(Int, renorm)(Int, normType)(Bool, outFlag)( \
      Double, routedScalingFactor)(Double, eps)(Out, yOut)(OutIndex, expertIdxOut)(OptOut, outOut)
#define GATE(IDS, TABLE)                                                                                  \
  gate_groups(x, biasOptional, IDS, TABLE,                                                                \
              {k, kGroup, groupCount, groupSelectMode, renorm, normType, routedScalingFactor, eps}, yOut, \
              expertIdxOut, outFlag ? &outOut : nullptr)
ACLNN(MoeGatingTopK, (In, x)(OptIn, biasOptional)GATE_PARAMS, GATE(kNone, kNone))
ACLNN(MoeGatingTopKV2, (In, x)(OptIn, biasOptional)(OptIndex, inputIdsOptional)(OptIndex, tid2eidOptional)GATE_PARAMS,
      GATE(inputIdsOptional, tid2eidOptional))
ACLNN(MoeGatingTopKBackward,
      (In, xNorm)(In, gradY)(Index, expertIdx)(Int, renorm)(Int, normType)(Double, routedScalingFactor)(Double,
                                                                                                        eps)(Out, out),
      gate_backward(xNorm, gradY, expertIdx, {0, 1, 1, 0, renorm, normType, routedScalingFactor, eps}, out))
ACLNN(MoeFusedTopk,
      (In, x)(In, addNum)(OptIn, mappingNum)(OptIn, mappingTable)(UInt32, groupNum)(UInt32, groupTopk)(UInt32, topN)(
          UInt32, topK)(UInt32, activateType)(Bool, isNorm)(Float, scale)(Bool, enableExpertMapping)(Out, y)(Out,
                                                                                                             indices),
      fused_topk(x, addNum, mappingNum, mappingTable, activateType,
                 {groupNum, groupTopk, topN, topK, isNorm, enableExpertMapping, scale}, y, indices))
ACLNN(Sinkhorn, (In, cost)(OptScalar, tol)(Out, p), sinkhorn(cost, tol ? tol->toDouble() : kSinkhornTolerance, p))

#undef GATE_PARAMS
#undef GATE
