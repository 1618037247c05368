// native/opapi/ops/moe/moe_finalize.cpp
// The experts' results for a token's copies, summed up with its weights and with rows that all tokens share:
//   out = x1 + x2 + sum over choices of scale * (expanded row + bias of the expert)
#include "opapi/ops/moe/moe.h"

namespace {

using namespace opwright::opapi::moe;  // NOLINT: tables only

struct Terms {
  const OptionalTensor &x1, &x2, &bias, &scales, &experts;
};

// Experts whose result is no row of the expanded tokens: nothing, the token itself, or alpha1 * token + alpha2 * v with
// one row for each such expert. Ranges are [begin, end).
struct SpecialExperts {
  const OptionalTensor &tokens, &alpha1, &alpha2, &v;
  at::OptionalIntArrayRef zero, copied, constant;
};

// Which of the choices name an expert of the range.
at::Tensor within(const at::Tensor& experts, at::OptionalIntArrayRef range, const char* name) {
  if (!range || range->empty()) return {};
  require(range->size() == 2 && range->front() >= 0 && range->front() <= range->back(), ACLNN_ERR_PARAM_INVALID,
          "parameter '", name, "' is ", *range, "; it must be the first expert and the one behind the last");
  return (experts >= range->front()).logical_and_(experts < range->back());
}

// The rows of the tensor for those choices, in float32.
at::Tensor rows_of(const OptionalTensor& tensor, const at::Tensor& index, const char* name) {
  require(tensor.has_value(), ACLNN_ERR_PARAM_NULLPTR, "parameter '", name,
          "' is null; copied or constant experts need it");
  return tensor->index_select(0, index).to(at::kFloat);
}

// `values` has a row for each choice, `choices` of a token one after the other.
void apply(const SpecialExperts& special, const OptionalTensor& experts, int64_t choices, at::Tensor& values) {
  const auto is_given = [](at::OptionalIntArrayRef range) { return range && !range->empty(); };
  if (!is_given(special.zero) && !is_given(special.copied) && !is_given(special.constant)) return;
  require(experts.has_value(), ACLNN_ERR_PARAM_NULLPTR, "parameter 'expertIdx' is null, but ranges of experts need it");
  const at::Tensor flat = experts->flatten();
  if (const at::Tensor copied = within(flat, special.copied, "copyExpertRange"); copied.defined()) {
    const at::Tensor places = copied.nonzero().view(-1);
    values.index_copy_(0, places, rows_of(special.tokens, places.floor_divide(choices), "x"));
  }
  if (const at::Tensor constant = within(flat, special.constant, "constantExpertRange"); constant.defined()) {
    const at::Tensor places = constant.nonzero().view(-1);
    const at::Tensor numbers = flat.index_select(0, places).sub_(special.constant->front());
    const at::Tensor tokens = rows_of(special.tokens, places.floor_divide(choices), "x");
    const at::Tensor added = rows_of(special.alpha2, numbers, "a2").mul_(rows_of(special.v, numbers, "v"));
    values.index_copy_(0, places, rows_of(special.alpha1, numbers, "a1").mul_(tokens).add_(added));
  }
}

// Choices of experts that add nothing, not even their bias.
void skip(const SpecialExperts& special, const OptionalTensor& experts, at::Tensor& values) {
  if (!experts) return;
  const at::Tensor skipped = within(experts->flatten(), special.zero, "zeroExpertRange");
  if (skipped.defined()) values.masked_fill_(skipped.unsqueeze(1), 0);
}

const SpecialExperts kNoSpecialExperts{kNone, kNone, kNone, kNone, std::nullopt, std::nullopt, std::nullopt};

// `index` says which expanded row each choice of a token is: column by column in modes 0 and 1, row by row in 2 and 3.
// -1 stands for a dropped token.
void finalize(const at::Tensor& expanded, const at::Tensor& index, const Terms& terms, const SpecialExperts& special,
              int64_t mode, at::Tensor& out) {
  require(mode >= 0 && mode <= 3, ACLNN_ERR_PARAM_INVALID, "parameter 'dropPadMode' is ", mode, "; allowed: 0 to 3");
  require(out.dim() == 2, ACLNN_ERR_PARAM_INVALID, "the output has shape ", out.sizes(), "; it must be [tokens, H]");
  if (out.numel() == 0) return;
  const int64_t rows = out.size(0), choices = index.numel() / rows;
  require(choices > 0 && index.numel() % rows == 0, ACLNN_ERR_PARAM_INVALID, "parameter 'expandedRowIdx' has ",
          index.numel(), " elements, which do not fit an output of shape ", out.sizes());
  require(!terms.scales || terms.scales->numel() == index.numel(), ACLNN_ERR_PARAM_INVALID,
          "parameter 'scales' has shape ", terms.scales ? terms.scales->sizes() : at::IntArrayRef(), "; it must be [",
          rows, ", ", choices, "]");
  const at::Tensor by_row = mode >= 2 ? index.flatten() : index.view({choices, rows}).t().flatten();
  at::Tensor values = rows_at(expanded.flatten(0, -2), by_row).to(at::kFloat);
  apply(special, terms.experts, choices, values);
  if (terms.bias) {
    require(terms.experts.has_value(), ACLNN_ERR_PARAM_NULLPTR,
            "parameter 'expertIdx' is null, but parameter 'bias' needs it");
    values = values + terms.bias->index_select(0, terms.experts->flatten()).to(at::kFloat);
  }
  skip(special, terms.experts, values);
  const OptionalTensor weights = terms.scales ? OptionalTensor(terms.scales->view({rows, choices})) : std::nullopt;
  at::Tensor sum = sum_of_rows(values, choices, weights);
  if (terms.x1) sum = sum + *terms.x1;
  if (terms.x2) sum = sum + *terms.x2;
  assign(out, sum);
}

// The end of each expert's rows in a sorted list.
void count_up(const at::Tensor& sorted, int64_t experts, at::Tensor& out) {
  assign(out, at::searchsorted(sorted, at::arange(experts, sorted.options()), /*out_int32=*/true, /*right=*/true));
}

}  // namespace

ACLNN(MoeFinalizeRouting,
      (In, expandedX)(In, x1)(OptIn, x2Optional)(In, bias)(In, scales)(Index, expandedRowIdx)(Index,
                                                                                              expandedExpertIdx)(Out,
                                                                                                                 out),
      finalize(expandedX, expandedRowIdx, {x1, x2Optional, bias, scales, expandedExpertIdx}, kNoSpecialExperts, 0, out))
#define FINALIZE_PARAMS                                                                              \
  (In, expandedX)(Index, expandedRowIdx)(OptIn, x1Optional)(OptIn, x2Optional)(OptIn, biasOptional)( \
      OptIn, scalesOptional)(OptIndex, expertIdxOptional)
#define SPECIAL_PARAMS                                                                          \
  (OptIn, xOptional)(OptIn, a1Optional)(OptIn, a2Optional)(OptIn, vOptional)(Int, dropPadMode)( \
      OptInts, zeroExpertRange)(OptInts, copyExpertRange)(OptInts, constantExpertRange)
#define FINALIZE(...)                                                                                            \
  finalize(expandedX, expandedRowIdx, {x1Optional, x2Optional, biasOptional, scalesOptional, expertIdxOptional}, \
           __VA_ARGS__, dropPadMode, out)
#define SPECIAL {xOptional, a1Optional, a2Optional, vOptional, zeroExpertRange, copyExpertRange, constantExpertRange}
ACLNN(MoeFinalizeRoutingV2, FINALIZE_PARAMS(Int, dropPadMode)(Out, out), FINALIZE(kNoSpecialExperts))
ACLNN(MoeFinalizeRoutingV3, FINALIZE_PARAMS SPECIAL_PARAMS(Out, out), FINALIZE(SPECIAL))
ACLNN(MoeFinalizeRoutingV4, FINALIZE_PARAMS SPECIAL_PARAMS(Int, k)(Out, out), FINALIZE(SPECIAL))
ACLNN(MoeComputeExpertTokens, (In, sortedExperts)(Int, numExperts)(Out, out), count_up(sortedExperts, numExperts, out))

#undef FINALIZE_PARAMS
#undef SPECIAL_PARAMS
#undef FINALIZE
#undef SPECIAL
