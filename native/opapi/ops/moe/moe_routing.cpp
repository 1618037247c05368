// native/opapi/ops/moe/moe_routing.cpp
// Tokens copied to their experts, in the order of the experts. A pair is a token and one of its choices.
#include <limits>

#include "opapi/ops/common/low_precision.h"
#include "opapi/ops/moe/moe.h"

namespace {

using namespace opwright::opapi::moe;  // NOLINT: tables only

// The pairs in the order of their experts: those of [first, last) in front, lower ones last.
struct Routing {
  at::Tensor order;    // the pairs
  at::Tensor experts;  // of the pairs in that order
  int64_t active;      // how many of them have an expert in the range
};

Routing route(const at::Tensor& expert_idx, int64_t first, int64_t last) {
  const at::Tensor flat = expert_idx.flatten().to(at::kLong);
  const at::Tensor before = flat < first;
  const at::Tensor order = sorted_order(flat.masked_fill(before, std::numeric_limits<int64_t>::max()));
  return {order, flat.index_select(0, order), flat.numel() - before.logical_or(flat >= last).sum().item<int64_t>()};
}

at::Tensor tokens_per_expert(const Routing& routing, int64_t first, int64_t last) {
  return at::bincount(routing.experts.narrow(0, 0, routing.active) - first, {}, last - first);
}

// Where rows of the expanded tokens come from: the pair, or -1 for padding.
at::Tensor without_padding(const Routing& routing, int64_t rows) {
  const int64_t filled = std::min(routing.active, rows);
  const at::Tensor pairs = at::full({rows}, -1, at::kLong);
  pairs.narrow(0, 0, filled).copy_(routing.order.narrow(0, 0, filled));
  return pairs;
}

// Each expert has `capacity` rows; what does not fit is dropped.
at::Tensor with_capacity(const Routing& routing, int64_t experts, int64_t capacity) {
  require(experts > 0 && capacity > 0, ACLNN_ERR_PARAM_INVALID, "parameters 'expertNum' and 'expertCapacity' are ",
          experts, " and ", capacity, "; with dropPadMode 1 they must be positive");
  const at::Tensor counts = tokens_per_expert(routing, 0, experts);
  const at::Tensor chosen = routing.experts.narrow(0, 0, routing.active);
  const at::Tensor rank = at::arange(routing.active, at::kLong) - (counts.cumsum(0) - counts).index_select(0, chosen);
  const at::Tensor fits = rank < capacity;
  const at::Tensor pairs = at::full({experts * capacity}, -1, at::kLong);
  const at::Tensor places = (chosen * capacity + rank).masked_select(fits);
  return pairs.index_copy(0, places, routing.order.narrow(0, 0, routing.active).masked_select(fits));
}

// The row of each pair, -1 for one that has none.
at::Tensor rows_of_pairs(const at::Tensor& pairs, int64_t count) {
  const at::Tensor present = pairs >= 0;
  return at::full({count}, -1, at::kLong)
      .index_copy(0, pairs.masked_select(present), at::arange(pairs.numel(), at::kLong).masked_select(present));
}

struct Request {
  int64_t capacity, experts, drop_pad_mode;
  int64_t first, last;  // the experts that count
};

struct Expansion {
  Routing routing;
  at::Tensor pairs;   // of each row of the output
  at::Tensor tokens;  // the rows of x that they are; -1 for padding
};

Expansion expand(const at::Tensor& x, const at::Tensor& expert_idx, const Request& request, int64_t rows) {
  require(x.dim() == 2 && expert_idx.dim() >= 1 && expert_idx.dim() <= 2 && expert_idx.size(0) == x.size(0),
          ACLNN_ERR_PARAM_INVALID, "parameter 'expertIdx' has shape ", expert_idx.sizes(),
          "; it must be [rows, choices] for x of shape ", x.sizes());
  require(request.drop_pad_mode == 0 || request.drop_pad_mode == 1, ACLNN_ERR_PARAM_INVALID,
          "parameter 'dropPadMode' is ", request.drop_pad_mode, "; allowed: 0, 1");
  Expansion result{route(expert_idx, request.first, request.last), {}, {}};
  result.pairs = request.drop_pad_mode == 1 ? with_capacity(result.routing, request.experts, request.capacity)
                                            : without_padding(result.routing, rows);
  const int64_t choices = expert_idx.dim() == 1 ? 1 : std::max<int64_t>(expert_idx.size(1), 1);
  result.tokens = result.pairs.div(choices, "floor");  // -1 stays -1
  return result;
}

// The 8-bit forms: one scale and offset for all, or the largest of each row becomes 127.
struct Quantization {
  int64_t mode;  // -1: none, 0: static, 1: by row
  const OptionalTensor &scale, &offset;
};

void quantize_statically(at::Tensor& out, const at::Tensor& rows, const Expansion& expansion,
                         const Quantization& quantization) {
  const OptionalTensor &scale = quantization.scale, &offset = quantization.offset;
  require(scale && offset && scale->numel() == 1 && offset->numel() == 1, ACLNN_ERR_PARAM_INVALID,
          "parameters 'scale' and 'offset' must have one element each with quantMode 0");
  const at::Tensor values = to_int8(rows.mul(scale->reshape({1, 1})).add_(offset->reshape({1, 1})));
  out.copy_(values.masked_fill((expansion.tokens < 0).unsqueeze(1), 0).view(out.sizes()));
}

// The smoothing scales of each row: those of its expert, or the same for all.
at::Tensor smooth_scales(const at::Tensor& scale, const Expansion& expansion, int64_t first, int64_t columns) {
  require(scale.dim() == 2 && scale.size(1) == columns, ACLNN_ERR_PARAM_INVALID, "parameter 'scale' has shape ",
          scale.sizes(), "; with quantMode 1 it must be [1, ", columns, "] or [experts, ", columns, "]");
  if (scale.size(0) == 1) return scale;
  const Routing& routing = expansion.routing;
  const at::Tensor experts = at::empty_like(routing.experts).scatter_(0, routing.order, routing.experts);
  const at::Tensor index = rows_at(experts, expansion.pairs).sub_(first);
  return scale.index_select(0, index.clamp_(0, scale.size(0) - 1));  // those of padding are not used
}

void quantize_by_row(at::Tensor& out, at::Tensor& scale_out, const at::Tensor& rows) {
  const at::Tensor scale = rows.abs().amax(1, /*keepdim=*/true) / 127;
  out.copy_(rows.div(scale.masked_fill(scale == 0, 1)).round_().view(out.sizes()));
  assign(scale_out, scale.view(-1));
}

void write_rows(at::Tensor& out, at::Tensor& scale_out, const at::Tensor& x, const Expansion& expansion,
                const Quantization& quantization, int64_t first) {
  const at::Tensor rows = rows_at(x, expansion.tokens);
  require(out.numel() == rows.numel(), ACLNN_ERR_PARAM_INVALID, "the expanded rows have shape ", rows.sizes(),
          ", but the output has ", out.sizes());
  if (quantization.mode == -1) {
    out.copy_(rows.view(out.sizes()));
    if (quantization.scale) assign(scale_out, rows_at(quantization.scale->flatten(), expansion.tokens));
  } else if (rows.numel() == 0) {
    return;
  } else if (quantization.mode == 0) {
    quantize_statically(out, rows.to(at::kFloat), expansion, quantization);
  } else if (quantization.mode == 1) {
    const at::Tensor values = rows.to(at::kFloat);
    const OptionalTensor& scale = quantization.scale;
    quantize_by_row(out, scale_out, scale ? values * smooth_scales(*scale, expansion, first, x.size(1)) : values);
  } else {
    fail(ACLNN_ERR_PARAM_INVALID, "parameter 'quantMode' is ", quantization.mode,
         "; allowed: -1 (none), 0 (static), 1 (by row); the others are for types that Ascend910B does not have");
  }
}

// Of each pair, where it is among the rows; pairs beyond the last row count on.
at::Tensor row_index(const Expansion& expansion, bool drop) {
  const Routing& routing = expansion.routing;
  return rows_of_pairs(drop ? expansion.pairs : routing.order.narrow(0, 0, routing.active), routing.order.numel());
}

// The forms without a range: every expert counts.
struct Counts {
  int64_t form;  // 0: none, 1: cumulative, 2: of each expert
  at::Tensor* counts;
  bool before_capacity;
  at::Tensor* counts_before;
};

void init_routing(const at::Tensor& x, const at::Tensor& expert_idx, Request request, const Quantization& quantization,
                  const Counts& counts, at::Tensor& out, at::Tensor& row_idx, at::Tensor& scale_out) {
  const bool drop = request.drop_pad_mode == 1;
  require(counts.form >= 0 && counts.form <= 2, ACLNN_ERR_PARAM_INVALID,
          "parameter 'expertTokensCountOrCumsumFlag' is ", counts.form,
          "; allowed: 0 (none), 1 (cumulative), 2 (counts)");
  const bool counting = drop || counts.form != 0;
  request.first = 0;
  request.last = counting ? request.experts : std::numeric_limits<int64_t>::max();
  const Expansion expansion = expand(x, expert_idx, request, out.size(0));
  require(expansion.routing.active == expert_idx.numel(), ACLNN_ERR_PARAM_INVALID,
          "parameter 'expertIdx' must be between 0 and expertNum, ", request.experts, ", excluded");
  write_rows(out, scale_out, x, expansion, quantization, 0);
  assign(row_idx, row_index(expansion, drop));
  if (!counting) return;
  const at::Tensor each = tokens_per_expert(expansion.routing, 0, request.experts);
  if (!drop) assign(*counts.counts, counts.form == 1 ? each.cumsum(0) : each);
  if (drop && counts.before_capacity) assign(*counts.counts_before, each);
}

// Pairs of expert and number of tokens for those that have any; the rest is zero.
at::Tensor key_values(const at::Tensor& counts, int64_t first, int64_t rows) {
  const at::Tensor keys = counts.nonzero().view(-1), result = at::zeros({rows, 2}, at::kLong);
  const int64_t filled = std::min(keys.numel(), rows);
  result.narrow(0, 0, filled).copy_(at::stack({keys + first, counts.index_select(0, keys)}, 1).narrow(0, 0, filled));
  return result;
}

struct RangedCounts {
  int64_t form;  // 0: cumulative, 1: of each expert, 2: pairs
  bool wanted;
  at::Tensor& out;
};

void init_routing_of_range(const at::Tensor& x, const at::Tensor& expert_idx, Request request,
                           at::OptionalIntArrayRef range, const Quantization& quantization, const RangedCounts& counts,
                           int64_t index_type, at::Tensor& out, at::Tensor& row_idx, at::Tensor& scale_out) {
  const bool drop = request.drop_pad_mode == 1, given = range && !range->empty();
  request.first = given ? range->at(0) : 0;
  request.last = given ? range->at(1) : request.experts;
  require(request.first >= 0 && request.first < request.last && request.last <= request.experts,
          ACLNN_ERR_PARAM_INVALID, "parameter 'activeExpertRange' is [", request.first, ", ", request.last,
          "]; it must lie within the ", request.experts, " experts");
  require((counts.form >= 0 && counts.form <= 2) && (index_type == 0 || index_type == 1), ACLNN_ERR_PARAM_INVALID,
          "parameters 'expertTokensNumType' and 'rowIdxType' are ", counts.form, " and ", index_type,
          "; allowed: 0 to 2, 0 and 1");
  const Expansion expansion = expand(x, expert_idx, request, out.size(0));
  write_rows(out, scale_out, x, expansion, quantization, request.first);
  assign(row_idx, index_type == 1 && !drop ? expansion.routing.order : row_index(expansion, drop));
  if (!counts.wanted) return;
  const at::Tensor each = tokens_per_expert(expansion.routing, request.first, request.last);
  if (counts.form == 2 && !drop) {
    assign(counts.out, key_values(each, request.first, counts.out.size(0)));
  } else {
    assign(counts.out, counts.form == 0 && !drop ? each.cumsum(0) : each);
  }
}

// The first form: the order of the pairs is given, and they count column by column. `convert` makes rows of the output
// of rows of x.
template <class Convert>
void init_routing_by_column(const at::Tensor& x, const at::Tensor& row_numbers, const at::Tensor& expert_idx,
                            const Convert& convert, at::Tensor& out, at::Tensor& row_idx, at::Tensor& experts_out) {
  require(x.dim() == 2 && expert_idx.dim() == 2 && expert_idx.sizes() == row_numbers.sizes() &&
              expert_idx.size(0) == x.size(0),
          ACLNN_ERR_PARAM_INVALID, "parameters 'rowIdx' and 'expertIdx' have shapes ", row_numbers.sizes(), " and ",
          expert_idx.sizes(), "; both must be [rows, choices] for x of shape ", x.sizes());
  const at::Tensor flat = expert_idx.flatten(), order = sorted_order(flat);
  const at::Tensor pairs = row_numbers.flatten().index_select(0, order);
  assign(experts_out, flat.index_select(0, order));
  assign(row_idx, rows_of_pairs(pairs, pairs.numel()));
  if (out.numel() == 0) return;
  assign(out, convert(x.index_select(0, pairs.narrow(0, 0, out.size(0)).remainder(x.size(0)))));
}

}  // namespace

ACLNN(MoeInitRouting,
      (In, x)(Index, rowIdx)(Index, expertIdx)(Int, activeNum)(Out, expandedXOut)(OutIndex, expandedRowIdxOut)(
          OutIndex, expandedExpertIdxOut),
      init_routing_by_column(
          x, rowIdx, expertIdx, [](const at::Tensor& rows) { return rows; }, expandedXOut, expandedRowIdxOut,
          expandedExpertIdxOut))
ACLNN(MoeInitRoutingQuant,
      (In, x)(Index, rowIdx)(Index, expertIdx)(Int, activeNum)(Double, scale)(Double, offset)(Out, expandedXOut)(
          OutIndex, expandedRowIdxOut)(OutIndex, expandedExpertIdxOut),
      init_routing_by_column(
          x, rowIdx, expertIdx,
          [&](const at::Tensor& rows) { return to_int8(to_float(rows).mul_(scale).add_(offset)); }, expandedXOut,
          expandedRowIdxOut, expandedExpertIdxOut))
ACLNN(MoeInitRoutingV2,
      (In, x)(Index, expertIdx)(Int, activeNumOptional)(Int, expertCapacityOptional)(Int, expertNumOptional)(
          Int, dropPadModeOptional)(Int, expertTokensCountOrCumsumFlagOptional)(
          Bool, expertTokensBeforeCapacityFlagOptional)(Out, expandedXOut)(OutIndex, expandedRowIdxOut)(
          OptOut, expertTokensCountOrCumsumOutOptional)(OptOut, expertTokensBeforeCapacityOutOptional),
      init_routing(x, expertIdx, {expertCapacityOptional, expertNumOptional, dropPadModeOptional, 0, 0},
                   {-1, kNone, kNone},
                   {expertTokensCountOrCumsumFlagOptional, &expertTokensCountOrCumsumOutOptional,
                    expertTokensBeforeCapacityFlagOptional, &expertTokensBeforeCapacityOutOptional},
                   expandedXOut, expandedRowIdxOut, NoTensor{}))
ACLNN(MoeInitRoutingQuantV2,
      (In, x)(Index, expertIdx)(OptIn, scaleOptional)(OptIn, offsetOptional)(Int, activeNum)(Int, expertCapacity)(
          Int, expertNum)(Int, dropPadMode)(Int, expertTokensCountOrCumsumFlag)(Bool, expertTokensBeforeCapacityFlag)(
          Int, quantMode)(Out, expandedXOut)(OutIndex, expandedRowIdxOut)(OptOut, expertTokensCountOrCumsumOutOptional)(
          OptOut, expertTokensBeforeCapacityOutOptional)(OptOut, dynamicQuantScaleOutOptional),
      require(quantMode != -1, ACLNN_ERR_PARAM_INVALID, "parameter 'quantMode' is -1; allowed: 0, 1");
      init_routing(x, expertIdx, {expertCapacity, expertNum, dropPadMode, 0, 0},
                   {quantMode, scaleOptional, offsetOptional},
                   {expertTokensCountOrCumsumFlag, &expertTokensCountOrCumsumOutOptional,
                    expertTokensBeforeCapacityFlag, &expertTokensBeforeCapacityOutOptional},
                   expandedXOut, expandedRowIdxOut, dynamicQuantScaleOutOptional))
ACLNN(MoeInitRoutingV3,
      (In, x)(Index, expertIdx)(OptIn, scaleOptional)(OptIn, offsetOptional)(Int, activeNum)(Int, expertCapacity)(
          Int, expertNum)(Int, dropPadMode)(Int, expertTokensNumType)(Bool, expertTokensNumFlag)(Int, quantMode)(
          OptInts, activeExpertRangeOptional)(Int, rowIdxType)(Out, expandedXOut)(OutIndex, expandedRowIdxOut)(
          Out, expertTokensCountOrCumsumOut)(OptOut, expandedScaleOut),
      init_routing_of_range(x, expertIdx, {expertCapacity, expertNum, dropPadMode, 0, 0}, activeExpertRangeOptional,
                            {quantMode, scaleOptional, offsetOptional},
                            {expertTokensNumType, expertTokensNumFlag, expertTokensCountOrCumsumOut}, rowIdxType,
                            expandedXOut, expandedRowIdxOut, expandedScaleOut))
