// native/opapi/ops/matmul/lora.cpp
// Low-rank adapters (LoRA): each row of a batch goes through the two matrices of its own adapter.
#include "opapi/opapi.h"

namespace {

void check_weight(const at::Tensor& weight, int64_t layer, const char* name) {
  require(weight.dim() == 4, ACLNN_ERR_PARAM_INVALID, name, " has ", weight.dim(),
          " dimensions; allowed: 4 (adapters, layers, outputs, inputs)");
  require(layer >= 0 && layer < weight.size(1), ACLNN_ERR_PARAM_INVALID, "layerIdx is ", layer, "; ", name, " has ",
          weight.size(1), " layers");
}

// Rows of adapters, one product for each adapter that occurs; -1 stands for no adapter.
at::Tensor apply_adapters(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& indices, int64_t layer) {
  at::Tensor result = at::zeros({x.size(0), weight.size(2)}, x.options());
  for (int64_t adapter = 0; adapter < weight.size(0); ++adapter) {
    const at::Tensor rows = indices.eq(adapter).nonzero().squeeze(1);
    if (rows.numel() == 0) continue;
    const at::Tensor matrix = weight.select(0, adapter).select(0, layer).to(at::kFloat);
    result.index_copy_(0, rows, x.index_select(0, rows).mm(matrix.t()));
  }
  return result;
}

struct Slice {
  int64_t offset, size;
};

void add_lora(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight_b, const at::Tensor& indices,
              const OptionalTensor& weight_a, int64_t layer, double scale, Slice slice, at::Tensor& out) {
  check_weight(weight_b, layer, "weightB");
  if (weight_a) check_weight(*weight_a, layer, "weightAOptional");
  require(slice.offset >= 0 && slice.size == weight_b.size(2) && slice.offset + slice.size <= y.size(1),
          ACLNN_ERR_PARAM_INVALID, "yOffset is ", slice.offset, " and ySliceSize is ", slice.size,
          "; allowed: ySliceSize ", weight_b.size(2), " (the outputs of weightB) within the ", y.size(1),
          " columns of y");
  at::Tensor rows = x.to(at::kFloat);
  if (weight_a) rows = apply_adapters(rows, *weight_a, indices, layer);
  rows = apply_adapters(rows, weight_b, indices, layer);
  at::Tensor result = y.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  result.narrow(1, slice.offset, slice.size).add_(rows, scale);
  assign(out, result);
}

}  // namespace

ACLNN(AddLora,
      (In, y)(In, x)(In, weightB)(Index, indices)(OptIn, weightAOptional)(Int, layerIdx)(Double, scale)(Int, yOffset)(
          Int, ySliceSize)(Out, out),
      add_lora(y, x, weightB, indices, weightAOptional, layerIdx, scale, {yOffset, ySliceSize}, out))
