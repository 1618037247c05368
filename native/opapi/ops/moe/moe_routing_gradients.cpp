// native/opapi/ops/moe/moe_routing_gradients.cpp
// Gradients of routing tokens to experts, and of putting the experts' results together: `index` says which expanded row
// each pair of token and choice is, row by row; -1 stands for a dropped token.
#include "opapi/ops/moe/moe.h"

namespace {

using namespace opwright::opapi::moe;  // NOLINT: tables only

void require_mode(int64_t mode) {
  require(mode == 0 || mode == 1, ACLNN_ERR_PARAM_INVALID, "parameter 'dropPadMode' is ", mode, "; allowed: 0, 1");
}

void init_routing_backward(const at::Tensor& grad, const at::Tensor& index, int64_t choices, int64_t mode,
                           int64_t active, at::Tensor& out) {
  require_mode(mode);
  require(choices > 0 && index.numel() % choices == 0, ACLNN_ERR_PARAM_INVALID, "parameter 'topK' is ", choices,
          "; it must divide the ", index.numel(), " elements of expandedRowIdx");
  require(mode == 1 || active == 0 || grad.size(0) == active, ACLNN_ERR_PARAM_INVALID, "parameter 'activeNum' is ",
          active, ", but gradExpandedX has ", grad.size(0), " rows");
  assign(out, sum_of_rows(rows_at(grad.flatten(0, -2), index), choices, std::nullopt));
}

struct FinalizeSaved {
  const OptionalTensor &expanded, &scales, &experts, &bias;
};

void finalize_backward(const at::Tensor& grad, const at::Tensor& index, const FinalizeSaved& saved, int64_t mode,
                       at::Tensor& expanded_grad, at::Tensor& scales_grad) {
  require_mode(mode);
  require(grad.dim() == 2 && grad.size(0) > 0 && index.numel() % grad.size(0) == 0, ACLNN_ERR_PARAM_INVALID,
          "parameters 'gradY' and 'expandedRowIdx' have the shapes ", grad.sizes(), " and ", index.sizes(),
          "; they must be [rows, H] and [rows * choices]");
  const int64_t rows = grad.size(0), choices = index.numel() / rows;
  require(saved.scales ? saved.scales->numel() == index.numel() : choices == 1, ACLNN_ERR_PARAM_INVALID,
          "parameter 'scales' has shape ", saved.scales ? saved.scales->sizes() : at::IntArrayRef(), "; it must be [",
          rows, ", ", choices, "]");
  const at::Tensor wide = grad.to(at::kFloat).unsqueeze(1).expand({rows, choices, grad.size(1)});
  const at::Tensor weighted = saved.scales ? wide * saved.scales->to(at::kFloat).view({rows, choices, 1}) : wide;
  at::Tensor by_row = expanded_grad.flatten(0, -2);
  put_rows(by_row, index, weighted.flatten(0, 1));
  if (!saved.scales) return;
  require(saved.expanded.has_value(), ACLNN_ERR_PARAM_NULLPTR,
          "parameter 'expandedXOptional' is null, but the gradient of scales needs it");
  at::Tensor values = rows_at(saved.expanded->flatten(0, -2), index).to(at::kFloat);
  if (saved.bias) {
    require(saved.experts.has_value(), ACLNN_ERR_PARAM_NULLPTR,
            "parameter 'expertIdxOptional' is null, but parameter 'biasOptional' needs it");
    values = values + saved.bias->index_select(0, saved.experts->flatten()).to(at::kFloat);
  }
  assign(scales_grad, values.view(wide.sizes()).mul(wide).sum(-1).view(scales_grad.sizes()));
}

}  // namespace

ACLNN(MoeInitRoutingV2Grad,
      (In, gradExpandedX)(Index, expandedRowIdx)(Int, topK)(Int, dropPadMode)(Int, activeNum)(Out, out),
      init_routing_backward(gradExpandedX, expandedRowIdx, topK, dropPadMode, activeNum, out))
ACLNN(MoeFinalizeRoutingV2Grad,
      (In, gradY)(Index, expandedRowIdx)(OptIn, expandedXOptional)(OptIn, scalesOptional)(OptIndex, expertIdxOptional)(
          OptIn, biasOptional)(Int, dropPadMode)(Int, activeNum)(Int, expertNum)(Int, expertCapacity)(
          Out, gradExpandedXOut)(OptOut, gradScalesOut),
      finalize_backward(gradY, expandedRowIdx, {expandedXOptional, scalesOptional, expertIdxOptional, biasOptional},
                        dropPadMode, gradExpandedXOut, gradScalesOut))
