// native/opapi/ops/moe/moe_finalize.cpp
// The experts' results for a token's copies, summed up with its weights and with rows that all tokens share:
//   out = x1 + x2 + sum over choices of scale * (expanded row + bias of the expert)
#include "opapi/ops/moe/moe.h"

namespace {

using namespace opwright::opapi::moe;  // NOLINT: tables only

struct Terms {
  const OptionalTensor &x1, &x2, &bias, &scales, &experts;
};

// `index` says which expanded row each choice of a token is: column by column in modes 0 and 1, row by row in 2 and 3.
// -1 stands for a dropped token.
void finalize(const at::Tensor& expanded, const at::Tensor& index, const Terms& terms, int64_t mode, at::Tensor& out) {
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
  if (terms.bias) {
    require(terms.experts.has_value(), ACLNN_ERR_PARAM_NULLPTR,
            "parameter 'expertIdx' is null, but parameter 'bias' needs it");
    values = values + terms.bias->index_select(0, terms.experts->flatten()).to(at::kFloat);
  }
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
      finalize(expandedX, expandedRowIdx, {x1, x2Optional, bias, scales, expandedExpertIdx}, 0, out))
#define FINALIZE_PARAMS                                                                              \
  (In, expandedX)(Index, expandedRowIdx)(OptIn, x1Optional)(OptIn, x2Optional)(OptIn, biasOptional)( \
      OptIn, scalesOptional)(OptIndex, expertIdxOptional)
#define FINALIZE                                                                                                 \
  finalize(expandedX, expandedRowIdx, {x1Optional, x2Optional, biasOptional, scalesOptional, expertIdxOptional}, \
           dropPadMode, out)
ACLNN(MoeFinalizeRoutingV2, FINALIZE_PARAMS(Int, dropPadMode)(Out, out), FINALIZE)
ACLNN(MoeFinalizeRoutingV4,
      FINALIZE_PARAMS(OptIn, xOptional)(OptIn, a1Optional)(OptIn, a2Optional)(OptIn, vOptional)(Int, dropPadMode)(
          OptInts, zeroExpertRange)(OptInts, copyExpertRange)(OptInts, constantExpertRange)(Int, k)(Out, out),
      require(!xOptional && !a1Optional && !a2Optional && !vOptional, ACLNN_ERR_PARAM_INVALID,
              "parameters 'x', 'a1', 'a2' and 'v' (copied and constant experts) are not available; allowed: null");
      require((!zeroExpertRange || zeroExpertRange->empty()) && (!copyExpertRange || copyExpertRange->empty()) &&
                  (!constantExpertRange || constantExpertRange->empty()),
              ACLNN_ERR_PARAM_INVALID, "ranges of zero, copied and constant experts are not available; allowed: null");
      FINALIZE)
ACLNN(MoeComputeExpertTokens, (In, sortedExperts)(Int, numExperts)(Out, out), count_up(sortedExperts, numExperts, out))

#undef FINALIZE_PARAMS
#undef FINALIZE
