// native/opapi/ops/attention/swin.cpp
// Attention within windows of an image (Swin transformer), with bytes between the steps: queries, keys and values from
// a layer's input, and the attention itself. Products of bytes are exact, what scales them is computed in float32.
#include <ATen/ops/layer_norm.h>

#include "opapi/ops/common/deq_scale.h"
#include "opapi/ops/common/low_precision.h"
#include "opapi/ops/common/refusal.h"

namespace {

// x W^T + bias, times the scale of each column.
at::Tensor scaled_product(const at::Tensor& x, const at::Tensor& weight, const OptionalTensor& bias,
                          const at::Tensor& scale) {
  at::Tensor product = x.to(at::kDouble).matmul(weight.to(at::kDouble).transpose(-1, -2));
  if (bias) product.add_(bias->to(at::kDouble));
  return product.to(at::kFloat).mul_(scale_of(scale));
}

struct Image {
  int64_t height, width, window_height, window_width;
};

struct SwinLayer {
  const at::Tensor &gamma, &beta, &weight, &bias, &scale, &offset, &dequant_scale;
  double eps;
};

// The rows of [B, S, H] in the order of their windows, [B * windows, rows of a window, H].
at::Tensor in_windows(const at::Tensor& x, const Image& image) {
  const int64_t rows = image.height / image.window_height, columns = image.width / image.window_width;
  return x.view({x.size(0), rows, image.window_height, columns, image.window_width, x.size(2)})
      .transpose(2, 3)
      .reshape({x.size(0) * rows * columns, image.window_height * image.window_width, x.size(2)});
}

void swin_projections(const at::Tensor& x, const SwinLayer& layer, const Image& image, int64_t heads, int64_t width,
                      bool transposed, at::Tensor& query, at::Tensor& key, at::Tensor& value) {
  require(transposed, ACLNN_ERR_PARAM_INVALID, "weightTranspose is false; allowed: true");
  require(x.dim() == 3 && heads > 0 && width > 0 && heads * width == x.size(2), ACLNN_ERR_PARAM_INVALID,
          "x has the shape ", x.sizes(), "; its last dimension must be headNum * seqLength, ", heads, " * ", width);
  require(image.window_height > 0 && image.window_width > 0 && image.height % image.window_height == 0 &&
              image.width % image.window_width == 0 && image.height * image.width == x.size(1),
          ACLNN_ERR_PARAM_INVALID, "an image of ", image.height, " x ", image.width, " in windows of ",
          image.window_height, " x ", image.window_width, " does not fit the ", x.size(1), " rows of x");
  const std::vector<int64_t> shape{3 * x.size(2), x.size(2)};
  require(layer.weight.sizes() == at::IntArrayRef(shape), ACLNN_ERR_PARAM_INVALID, "weight has the shape ",
          layer.weight.sizes(), "; it must be ", at::IntArrayRef(shape));
  const at::Tensor normed =
      at::layer_norm(to_float(x), {x.size(2)}, to_float(layer.gamma), to_float(layer.beta), layer.eps);
  const at::Tensor rows = in_windows(normed.contiguous(), image);
  const at::Tensor bytes = to_int8(rows.mul(to_float(layer.scale)).add_(to_float(layer.offset)));
  const at::Tensor product = scaled_product(bytes, layer.weight, layer.bias, layer.dequant_scale);
  const at::Tensor parts = product.unflatten(2, {3, heads, width}).permute({2, 0, 3, 1, 4});
  assign(query, parts[0]);
  assign(key, parts[1]);
  assign(value, parts[2]);
}

struct SwinScales {
  const at::Tensor &shares, &scores, &out;
  const OptionalTensor &shares_offset, &scores_bias, &out_bias;
};

void swin_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const SwinScales& scales,
                    const OptionalTensor& mask, at::Tensor& out) {
  require(query.dim() == 4 && key.sizes() == query.sizes() && value.sizes() == query.sizes(), ACLNN_ERR_PARAM_INVALID,
          "query, key and value have the shapes ", query.sizes(), ", ", key.sizes(), " and ", value.sizes(),
          "; they must be one of 4 dimensions");
  at::Tensor scores = scaled_product(query, key, scales.scores_bias, scales.scores);
  if (mask) scores = scores + to_float(*mask);
  at::Tensor shares = scores.softmax(-1).mul_(to_float(scales.shares));
  if (scales.shares_offset) shares.add_(to_float(*scales.shares_offset));
  assign(out, scaled_product(to_int8(shares), value.transpose(-1, -2), scales.out_bias, scales.out));
}

}  // namespace

ACLNN(SwinTransformerLnQkvQuant,
      (In, x)(In, gamma)(In, beta)(In, weight)(In, bias)(In, quantScale)(In, quantOffset)(In, dequantScale)(
          Int, headNum)(Int, seqLength)(Double, epsilon)(Int, oriHeight)(Int, oriWeight)(Int, hWinSize)(Int, wWinSize)(
          Bool, weightTranspose)(Out, queryOutputOut)(Out, keyOutputOut)(Out, valueOutputOut),
      swin_projections(x, {gamma, beta, weight, bias, quantScale, quantOffset, dequantScale, epsilon},
                       {oriHeight, oriWeight, hWinSize, wWinSize}, headNum, seqLength, weightTranspose, queryOutputOut,
                       keyOutputOut, valueOutputOut))
ACLNN(SwinAttentionScoreQuant,
      (In, query)(In, key)(In, value)(In, scaleQuant)(In, scaleDequant1)(In, scaleDequant2)(OptIn, biasQuantOptional)(
          OptIn, biasDequant1Optional)(OptIn, biasDequant2Optional)(OptIn, paddingMask1Optional)(OptIn,
                                                                                                 paddingMask2Optional)(
          Bool, queryTranspose)(Bool, keyTranspose)(Bool, valueTranspose)(Int, softmaxAxes)(Out, out),
      refuse({{paddingMask2Optional, "paddingMask2"}});
      require(!queryTranspose && !keyTranspose && !valueTranspose && softmaxAxes == -1, ACLNN_ERR_PARAM_INVALID,
              "queryTranspose, keyTranspose, valueTranspose and softmaxAxes are ", queryTranspose, ", ", keyTranspose,
              ", ", valueTranspose, ", ", softmaxAxes, "; allowed: false, false, false, -1");
      swin_attention(query, key, value,
                     {scaleQuant, scaleDequant1, scaleDequant2, biasQuantOptional, biasDequant1Optional,
                      biasDequant2Optional},
                     paddingMask1Optional, out))
