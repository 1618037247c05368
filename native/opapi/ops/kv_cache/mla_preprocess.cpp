// native/opapi/ops/kv_cache/mla_preprocess.cpp
// The steps before multi-head latent attention, with int8 products:
//   [k, r, c] = quant(norm(x)) Wdqkv; [q, s] = quant(norm(c)) Wuq per head
//   query = [q Wuk, rope(s)]; cache <- [norm(k), rope(r)]
// In float32; what the device keeps in the dtype of x between products is rounded to it.
#include "opapi/ops/common/deq_scale.h"
#include "opapi/ops/common/low_precision.h"
#include "opapi/ops/kv_cache/paged_cache.h"
#include "opapi/ops/kv_cache/stored_keys.h"

namespace {

using namespace opapi::paged;

constexpr int64_t kKeyWidth = 512, kRopeWidth = 64;

struct QuantizedNorm {
  const at::Tensor &gamma, &beta, &scale, &offset;
};

struct QuantizedWeight {
  const at::Tensor &values, &scale;  // [columns, rows], of the columns
  const OptionalTensor& bias;
};

struct PreprocessInputs {
  const at::Tensor& x;
  QuantizedNorm norm, query_norm;
  QuantizedWeight down, up;
  const at::Tensor &key_gamma, &cos, &sin, &up_key, &slots;
  const OptionalTensor &key_scale, &query_scale;
};

enum CacheForm : int64_t { kJoined = 0, kSplit = 1, kInt8Blocks = 2, kBlocks = 3 };

struct PreprocessSettings {
  double epsilon;
  int64_t cache, quantization;
  bool normalizes, transposed;
};

struct PreprocessOutputs {
  at::Tensor &query, &cache, &query_rope, &rope_cache;
  at::Tensor down;  // undefined if it is not asked for
};

at::Tensor to_input(const at::Tensor& values, const QuantizedNorm& norm) {
  return to_int8(values.div(to_float(norm.scale)).add_(to_float(norm.offset)));
}

// Sums of int8 products are exact in float64; bias is added before the scale.
at::Tensor product(const at::Tensor& x, const QuantizedWeight& weight) {
  at::Tensor sums = x.to(at::kDouble).matmul(weight.values.to(at::kDouble).t());
  if (weight.bias) sums.add_(weight.bias->to(at::kDouble));
  return sums.mul_(scale_of(weight.scale).to(at::kDouble)).to(at::kFloat);
}

void check(const PreprocessInputs& inputs, const PreprocessSettings& settings) {
  require(settings.quantization == 0, ACLNN_ERR_PARAM_INVALID, "parameter 'quantMode' is ", settings.quantization,
          "; allowed: 0 (static, of int8)");
  require(settings.cache >= kJoined && settings.cache <= kBlocks, ACLNN_ERR_PARAM_INVALID, "parameter 'cacheMode' is ",
          settings.cache, "; allowed: 0 to 3");
  require(settings.transposed, ACLNN_ERR_PARAM_INVALID,
          "parameters 'transposeWdq', 'transposeWuq', 'transposeWuk'; allowed: true");
  const auto require_int8 = [](const at::Tensor& weight, const char* name) {
    require(weight.scalar_type() == at::kChar && weight.dim() == 2, ACLNN_ERR_PARAM_INVALID, "parameter '", name,
            "' is ", weight.scalar_type(), " of shape ", weight.sizes(), "; allowed: int8 of 2 dimensions");
  };
  require_int8(inputs.down.values, "wdqkv");
  require_int8(inputs.up.values, "wuq");
  const int64_t latent = inputs.down.values.size(0) - kKeyWidth - kRopeWidth;
  const at::Tensor& up_key = inputs.up_key;
  require(up_key.dim() == 3 && up_key.size(2) == kKeyWidth && inputs.x.dim() == 2 &&
              inputs.x.size(1) == inputs.down.values.size(1) && latent > 0 && inputs.up.values.size(1) == latent &&
              inputs.up.values.size(0) == up_key.size(0) * (up_key.size(1) + kRopeWidth),
          ACLNN_ERR_PARAM_INVALID, "input, wdqkv, wuq and wuk have shapes ", inputs.x.sizes(), ", ",
          inputs.down.values.sizes(), ", ", inputs.up.values.sizes(), " and ", up_key.sizes(),
          "; they must be [T, H], [C + 576, H], [N * (D + 64), C] and [N, D, 512]");
  require(settings.cache != kInt8Blocks || (inputs.key_scale && inputs.query_scale), ACLNN_ERR_PARAM_NULLPTR,
          "parameters 'ctkvScale' and 'qNopeScale' are needed with cacheMode 2");
}

void preprocess(const PreprocessInputs& inputs, const PreprocessSettings& settings, PreprocessOutputs outputs) {
  check(inputs, settings);
  const bool split = settings.cache != kJoined;
  require(!split || (outputs.query_rope.defined() && outputs.rope_cache.defined()), ACLNN_ERR_PARAM_NULLPTR,
          "parameters 'qRopeOut' and 'krCacheOut' are needed with cacheMode ", settings.cache);
  const at::ScalarType dtype = inputs.x.scalar_type();
  const auto kept = [&](const at::Tensor& tensor) { return tensor.to(dtype).to(at::kFloat); };
  const int64_t tokens = inputs.x.size(0), heads = inputs.up_key.size(0), width = inputs.up_key.size(1);

  at::Tensor x = to_float(inputs.x);
  if (settings.normalizes) x = normalized(x, inputs.norm.gamma, settings.epsilon).add_(to_float(inputs.norm.beta));
  const at::Tensor low = kept(product(to_input(x, inputs.norm), inputs.down));
  const at::Tensor latent = low.narrow(1, kKeyWidth + kRopeWidth, low.size(1) - kKeyWidth - kRopeWidth);
  const at::Tensor query_low =
      normalized(latent, inputs.query_norm.gamma, settings.epsilon).add_(to_float(inputs.query_norm.beta));
  if (outputs.down.defined()) outputs.down.copy_(query_low);

  const at::Tensor query =
      kept(product(to_input(query_low, inputs.query_norm), inputs.up)).view({tokens, heads, width + kRopeWidth});
  at::Tensor absorbed = query.narrow(2, 0, width).transpose(0, 1).matmul(to_float(inputs.up_key)).transpose(0, 1);
  const at::Tensor cos = to_float(inputs.cos).unsqueeze(1), sin = to_float(inputs.sin).unsqueeze(1);
  const at::Tensor query_rope = rotate_halves(query.narrow(2, width, kRopeWidth), cos, sin);
  at::Tensor key = normalized(low.narrow(1, 0, kKeyWidth), inputs.key_gamma, settings.epsilon).unsqueeze(1);
  const at::Tensor key_rope = rotate_halves(low.narrow(1, kKeyWidth, kRopeWidth).unsqueeze(1), cos, sin);

  const at::Tensor slots = inputs.slots.reshape(-1);
  if (!split) {
    outputs.query.copy_(at::cat({absorbed, query_rope}, 2));
    write(plain_pages(outputs.cache), at::cat({key, key_rope}, 2), slots, "kvCacheOut");
    return;
  }
  if (settings.cache == kInt8Blocks) {
    absorbed = to_int8(kept(absorbed).mul_(to_float(*inputs.query_scale).view({1, -1, 1})));
    key = to_int8(key.div(to_float(*inputs.key_scale)));
  }
  const auto pages = [&](const at::Tensor& cache) {
    return settings.cache == kSplit ? plain_pages(cache) : block_pages(cache);
  };
  outputs.query.copy_(absorbed);
  outputs.query_rope.copy_(query_rope);
  write(pages(outputs.cache), key, slots, "kvCacheOut");
  write(pages(outputs.rope_cache), key_rope, slots, "krCacheOut");
}

}  // namespace

// Widths and coefficients of rotation are reserved: those of the operands hold.
#define OPERANDS                                                                                                      \
  (In, input)(In, gamma0)(In, beta0)(In, quantScale0)(In, quantOffset0)(In, wdqkv)(In, deScale0)(OptIn, bias0)(       \
      In, gamma1)(In, beta1)(In, quantScale1)(In, quantOffset1)(In, wuq)(In, deScale1)(OptIn, bias1)(In, gamma2)(     \
      In, cos)(In, sin)(In, wuk)(OptIn, kvCache)(OptIn, kvCacheRope)(In, slotMapping)(OptIn, ctkvScale)(              \
      OptIn, qNopeScale)(Int, wdqDim)(Int, qRopeDim)(Int, kRopeDim)(Double, epsilon)(Int, qRotaryCoeff)(              \
      Int, kRotaryCoeff)(Bool, transposeWdq)(Bool, transposeWuq)(Bool, transposeWuk)(Int, cacheMode)(Int, quantMode)( \
      Bool, doRmsNorm)(Int, wdkvSplitCount)
#define RESULTS (Out, qOut)(Ref, kvCacheOut)(OptOut, qRopeOut)(OptOut, krCacheOut)
#define INPUTS                                 \
  {input,                                      \
   {gamma0, beta0, quantScale0, quantOffset0}, \
   {gamma1, beta1, quantScale1, quantOffset1}, \
   {wdqkv, deScale0, bias0},                   \
   {wuq, deScale1, bias1},                     \
   gamma2,                                     \
   cos,                                        \
   sin,                                        \
   wuk,                                        \
   slotMapping,                                \
   ctkvScale,                                  \
   qNopeScale}
#define SETTINGS {epsilon, cacheMode, quantMode, doRmsNorm, transposeWdq && transposeWuq && transposeWuk}

ACLNN(MlaPreprocess, OPERANDS RESULTS,
      preprocess(INPUTS, SETTINGS, {qOut, kvCacheOut, qRopeOut, krCacheOut, at::Tensor()}))
ACLNN(MlaPreprocessV2, OPERANDS(Bool, qDownOutFlag) RESULTS(OptOut, qDownOut),
      preprocess(INPUTS, SETTINGS, {qOut, kvCacheOut, qRopeOut, krCacheOut, qDownOutFlag ? qDownOut : at::Tensor()}))

#undef OPERANDS
#undef RESULTS
#undef INPUTS
#undef SETTINGS
