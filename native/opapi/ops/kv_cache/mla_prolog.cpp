// native/opapi/ops/kv_cache/mla_prolog.cpp
// The prolog of multi-head latent attention: query and key from the tokens, the latter into its caches.
//   c = norm(x Wdq); [q, r] = c Wuq_qr per head; query = q Wuk; query rope = rope(r)
//   [k, r] = x Wdkv_kr; kv cache <- norm(k); kr cache <- rope(r)
// In float32; what the device keeps in bfloat16 between matrix products is rounded to it.
#include "opapi/ops/attention/sequences.h"
#include "opapi/ops/common/refusal.h"
#include "opapi/ops/kv_cache/paged_cache.h"
#include "opapi/ops/kv_cache/stored_keys.h"

namespace {

using namespace opapi::paged;

at::Tensor rounded(const at::Tensor& tensor) { return tensor.to(at::kBFloat16).to(at::kFloat); }

struct Weights {
  const at::Tensor &dq, &uq_qr, &uk, &dkv_kr, &gamma_cq, &gamma_ckv;
};

struct Scales {
  const OptionalTensor &x, &dq, &uq_qr, &dkv_kr, &ckv, &ckr, &smooth;
};

enum WeightMode : int64_t { kPlain = 0, kUpQuantized = 1, kQuantized = 2 };
enum CacheMode : int64_t { kPlainCache = 0, kPerTensor = 1, kPerChannel = 2 };

struct PrologOptions {
  double epsilon_cq, epsilon_ckv;
  const std::string& cache_mode;
  int64_t weight_mode, kv_mode;
  double query_scale = 1, key_scale = 1;
};

struct PrologCaches {
  at::Tensor &kv, &kr;
  const OptionalTensor &index, &ends;
};

struct Outputs {
  at::Tensor &query, &rope, &query_scale, &norm, &norm_scale;
};

const at::Tensor& needed(const OptionalTensor& tensor, const char* name) {
  require(tensor.has_value(), ACLNN_ERR_PARAM_NULLPTR, "parameter '", name, "' is needed in this mode of quantization");
  return *tensor;
}

struct Quantized {
  at::Tensor values, scale;  // int8, float32
};

// By the largest of the last dimension.
Quantized quantized(const at::Tensor& x) {
  const at::Tensor scale = x.abs().amax(-1, true).div_(127);
  return {to_int8(x.div(scale)), scale};  // a row of zeros stays zero
}

// x W, of int8 with the scales of rows and columns. Products of int8 are exact in float64.
at::Tensor product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& row_scale,
                   const at::Tensor& column_scale) {
  const at::Tensor result = x.to(at::kDouble).matmul(weight.to(at::kDouble)).to(at::kFloat);
  return result.mul_(row_scale.view({-1, 1})).mul_(column_scale.view({1, -1}));
}

// ---- caches

at::Tensor slots_of(const PrologCaches& caches, int64_t tokens, int64_t batches, int64_t page_size, bool by_page) {
  const at::Tensor index = needed(caches.index, "cacheIndex").reshape(-1);
  if (!by_page) {
    require(index.numel() == tokens, ACLNN_ERR_PARAM_INVALID, "parameter 'cacheIndex' has ", index.numel(),
            " elements; it must have one for each of ", tokens, " tokens");
    return index;
  }
  std::vector<int64_t> ends;
  if (batches > 0) {
    for (int64_t i = 1; i <= batches; ++i) ends.push_back(tokens / batches * i);
  } else {
    const at::Tensor given = needed(caches.ends, "actualSeqLen").to(at::kLong).contiguous();
    ends.assign(given.const_data_ptr<int64_t>(), given.const_data_ptr<int64_t>() + given.numel());
  }
  at::Tensor slots = at::full({tokens}, -1, at::kLong);
  int64_t page = 0;
  for (const auto& [batch, start, length] : opapi::attention::packed_spans(ends, tokens, "actualSeqLen")) {
    const at::Tensor token = at::arange(length);
    const int64_t count = (length + page_size - 1) / page_size;
    require(page + count <= index.numel(), ACLNN_ERR_PARAM_INVALID, "parameter 'cacheIndex' has ", index.numel(),
            " pages; the sequences need more");
    const at::Tensor pages = index.narrow(0, page, count).index_select(0, token.floor_divide(page_size));
    slots.narrow(0, start, length).copy_(pages.mul_(page_size).add_(token.remainder(page_size)));
    page += count;
  }
  return slots;
}

// values: [tokens, D]; batches: 0 if the tokens are packed.
void store(const at::Tensor& values, at::Tensor& cache, const PrologCaches& caches, const std::string& mode,
           int64_t batches, const char* name) {
  const int64_t width = values.size(1), heads = cache.dim() < 3 ? 0 : cache.size(-2);
  require(cache.dim() >= 3 && cache.size(-1) == width, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ",
          cache.sizes(), "; its last dimension must be ", width);
  const at::Tensor rows = values.unsqueeze(1).expand({-1, heads, -1});
  if (mode == "BSND" || mode == "TND") {
    require(cache.numel() == rows.numel(), ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ", cache.sizes(),
            "; in mode ", mode, " it must have a row for each of ", values.size(0), " tokens");
    cache.copy_(rows.reshape(cache.sizes()));
    return;
  }
  const bool blocks = mode == "PA_NZ" || mode == "PA_BLK_NZ", by_page = mode == "PA_BLK_BSND" || mode == "PA_BLK_NZ";
  require(blocks || by_page || mode.empty() || mode == "PA_BSND", ACLNN_ERR_PARAM_INVALID, "parameter 'cacheMode' is '",
          mode, "'; it must be PA_BSND, PA_NZ, PA_BLK_BSND, PA_BLK_NZ, BSND or TND");
  const at::Tensor slots = slots_of(caches, values.size(0), batches, page_size_of(cache, name), by_page);
  write(blocks ? blocks_declared_plain(cache) : plain_pages(cache), rows, slots, name);
}

// ---- the operator

void check(const at::Tensor& x, const Weights& weights, const Scales& scales, const PrologOptions& options) {
  require(options.weight_mode >= kPlain && options.weight_mode <= kQuantized, ACLNN_ERR_PARAM_INVALID,
          "parameter 'weightQuantMode' is ", options.weight_mode, "; available are 0, 1 and 2 (none, and int8)");
  require(options.kv_mode >= kPlainCache && options.kv_mode <= kPerChannel, ACLNN_ERR_PARAM_INVALID,
          "parameter 'kvCacheQuantMode' is ", options.kv_mode, "; available are 0 to 2 (not by groups of tokens)");
  const auto require_type = [](const at::Tensor& tensor, bool is_int8, const char* name) {
    require(tensor.scalar_type() == (is_int8 ? at::kChar : at::kBFloat16), ACLNN_ERR_PARAM_INVALID, "parameter '", name,
            "' has dtype ", tensor.scalar_type(), "; in this mode of quantization it must be ",
            is_int8 ? "int8" : "bfloat16");
  };
  require_type(x, options.weight_mode == kQuantized, "tokenX");
  require_type(weights.dq, options.weight_mode == kQuantized, "weightDq");
  require_type(weights.dkv_kr, options.weight_mode == kQuantized, "weightDkvKr");
  require_type(weights.uq_qr, options.weight_mode != kPlain, "weightUqQr");
  const at::Tensor& uk = weights.uk;
  require((x.dim() == 2 || x.dim() == 3) && weights.dq.dim() == 2 && weights.dq.size(0) == x.size(-1) &&
              uk.dim() == 3 && uk.size(0) > 0 && weights.uq_qr.size(0) == weights.dq.size(1) &&
              weights.uq_qr.size(1) % uk.size(0) == 0 && weights.dkv_kr.size(0) == x.size(-1),
          ACLNN_ERR_PARAM_INVALID, "tokenX, weightDq, weightUqQr, weightUk and weightDkvKr have shapes ", x.sizes(),
          ", ", weights.dq.sizes(), ", ", weights.uq_qr.sizes(), ", ", uk.sizes(), " and ", weights.dkv_kr.sizes(),
          "; they must be [..., He], [He, Hcq], [Hcq, N * (D + Dr)], [N, D, Hckv] and [He, Hckv + Dr]");
  require(options.kv_mode == kPlainCache || scales.ckv, ACLNN_ERR_PARAM_NULLPTR,
          "parameter 'quantScaleCkv' is needed for quantised caches");
}

at::Tensor down(const at::Tensor& x, const at::Tensor& weight, const PrologOptions& options, const Scales& scales,
                const OptionalTensor& column_scale, const char* name) {
  if (options.weight_mode != kQuantized) return to_float(x).matmul(to_float(weight));
  return product(x, weight, needed(scales.x, "dequantScaleX"), needed(column_scale, name));
}

struct PrologAngles {
  at::Tensor cos, sin;  // [tokens, Dr]
};

void store_key(const at::Tensor& x, const Weights& weights, const Scales& scales, const PrologOptions& options,
               const PrologAngles& angles, const PrologCaches& caches, int64_t batches) {
  const int64_t width = weights.uk.size(2), rotated = angles.cos.size(1);
  const at::Tensor joint = down(x, weights.dkv_kr, options, scales, scales.dkv_kr, "dequantScaleWDkvKr");
  at::Tensor key =
      normalized(joint.narrow(1, 0, width), weights.gamma_ckv, options.epsilon_ckv).mul_(options.key_scale);
  at::Tensor rope = rotate_neighbours(joint.narrow(1, width, rotated), angles.cos, angles.sin);
  if (options.kv_mode != kPlainCache) key = to_int8(key.mul(scales.ckv->view({1, -1})));
  if (options.kv_mode == kPerChannel) rope = to_int8(rope.mul(needed(scales.ckr, "quantScaleCkr").view({1, -1})));
  store(key, caches.kv, caches, options.cache_mode, batches, "kvCacheRef");
  store(rope, caches.kr, caches, options.cache_mode, batches, "krCacheRef");
}

// Into [tokens, Hcq] and, if that is int8, its scale.
at::Tensor query_of(const at::Tensor& x, const Weights& weights, const Scales& scales, const PrologOptions& options,
                    const Outputs& outputs) {
  const at::Tensor low = down(x, weights.dq, options, scales, scales.dq, "dequantScaleWDq");
  at::Tensor norm = normalized(low, weights.gamma_cq, options.epsilon_cq).mul_(options.query_scale);
  const auto output = [](at::Tensor& target, const at::Tensor& values) {
    if (target.defined()) assign(target, values.view(target.sizes()));
  };
  if (options.weight_mode == kPlain) {
    output(outputs.norm, norm);
    return rounded(norm).matmul(to_float(weights.uq_qr));
  }
  if (scales.smooth) norm.mul_(scales.smooth->view({1, -1}));
  const Quantized joined = quantized(norm);
  output(outputs.norm, joined.values);
  output(outputs.norm_scale, joined.scale);
  return product(joined.values, weights.uq_qr, joined.scale, needed(scales.uq_qr, "dequantScaleWUqQr"));
}

// A weight may come as the blocks of its storage, [columns / block, rows / 16, 16, block].
at::Tensor whole_weight(const at::Tensor& weight) {
  return weight.dim() == 4 ? weight.permute({1, 2, 0, 3}).flatten(2, 3).flatten(0, 1) : weight;
}

void prolog(const at::Tensor& tokens, const Weights& stored, const Scales& scales, const PrologOptions& options,
            const at::Tensor& sin, const at::Tensor& cos, const PrologCaches& caches, const Outputs& outputs) {
  const at::Tensor dq = whole_weight(stored.dq), uq_qr = whole_weight(stored.uq_qr);
  const at::Tensor dkv_kr = whole_weight(stored.dkv_kr);
  const Weights weights{dq, uq_qr, stored.uk, dkv_kr, stored.gamma_cq, stored.gamma_ckv};
  check(tokens, weights, scales, options);
  const at::Tensor x = tokens.reshape({-1, tokens.size(-1)});
  const PrologAngles angles{to_float(cos).reshape({x.size(0), -1}), to_float(sin).reshape({x.size(0), -1})};
  const int64_t heads = weights.uk.size(0), width = weights.uk.size(1), rotated = angles.cos.size(1);
  store_key(x, weights, scales, options, angles, caches, tokens.dim() == 3 ? tokens.size(0) : 0);
  const at::Tensor joint = query_of(x, weights, scales, options, outputs).unflatten(1, {heads, -1});
  require(joint.size(2) == width + rotated, ACLNN_ERR_PARAM_INVALID, "parameter 'weightUqQr' has ", joint.size(2),
          " columns for each head; weightUk and rope have ", width, " and ", rotated);
  at::Tensor query = rounded(joint.narrow(2, 0, width)).transpose(0, 1).matmul(to_float(weights.uk)).transpose(0, 1);
  at::Tensor rope =
      rotate_neighbours(joint.narrow(2, width, rotated), angles.cos.unsqueeze(1), angles.sin.unsqueeze(1));
  if (options.weight_mode == kQuantized && options.kv_mode == kPerTensor) {
    const Quantized per_head = quantized(rounded(query));
    query = per_head.values;
    rope = rounded(rope).mul_(scales.ckv->view(-1).select(0, 0)).div_(per_head.scale);
    if (outputs.query_scale.defined()) assign(outputs.query_scale, per_head.scale.view(outputs.query_scale.sizes()));
  } else if (outputs.query_scale.defined()) {
    outputs.query_scale.zero_();
  }
  assign(outputs.query, query.reshape(outputs.query.sizes()));
  assign(outputs.rope, rope.reshape(outputs.rope.sizes()));
}

// The older form has the modes in its operands.
int64_t weight_mode_of(const at::Tensor& x, const at::Tensor& up) {
  return x.scalar_type() == at::kChar ? kQuantized : up.scalar_type() == at::kChar ? kUpQuantized : kPlain;
}

int64_t kv_mode_of(const at::Tensor& x, const OptionalTensor& scale) {
  return !scale ? kPlainCache : x.scalar_type() == at::kChar ? kPerTensor : kPerChannel;
}

struct Newer {
  const OptionalTensor& clip;
  int64_t query_mode, kv_mode, weight_mode, together, scales_together;
};

void check(const Newer& newer) {
  refuse({{newer.clip, "kNopeClipAlpha"}});
  const int64_t expected = newer.weight_mode == kQuantized && newer.kv_mode == kPerTensor ? 1 : 0;
  require(newer.query_mode == expected, ACLNN_ERR_PARAM_INVALID, "parameter 'queryQuantMode' is ", newer.query_mode,
          "; with these modes of weights and cache it must be ", expected);
  require(newer.together == 0 && newer.scales_together == 0, ACLNN_ERR_PARAM_INVALID,
          "ckvkrRepoMode and quantScaleRepoMode are ", newer.together, " and ", newer.scales_together,
          "; available is 0 (stored apart)");
}

}  // namespace

#define WEIGHTS_IN                                                                                                    \
  (In, tokenX)(In, weightDq)(In, weightUqQr)(In, weightUk)(In, weightDkvKr)(In, rmsnormGammaCq)(In, rmsnormGammaCkv)( \
      In, ropeSin)(In, ropeCos)
#define SCALES_IN                                                                                     \
  (OptIn, dequantScaleXOptional)(OptIn, dequantScaleWDqOptional)(OptIn, dequantScaleWUqQrOptional)(   \
      OptIn, dequantScaleWDkvKrOptional)(OptIn, quantScaleCkvOptional)(OptIn, quantScaleCkrOptional)( \
      OptIn, smoothScalesCqOptional)
#define WEIGHTS {weightDq, weightUqQr, weightUk, weightDkvKr, rmsnormGammaCq, rmsnormGammaCkv}
#define SCALES                                                                                            \
  {dequantScaleXOptional, dequantScaleWDqOptional, dequantScaleWUqQrOptional, dequantScaleWDkvKrOptional, \
   quantScaleCkvOptional, quantScaleCkrOptional,   smoothScalesCqOptional}
#define EPSILONS (Double, rmsnormEpsilonCq)(Double, rmsnormEpsilonCkv)(Text, cacheModeOptional)

#define PROLOG(NAME, SCALE_OUT, QUERY_SCALE)                                                                \
  ACLNN(NAME,                                                                                               \
        WEIGHTS_IN(Index, cacheIndex)(Ref, kvCacheRef)(Ref, krCacheRef)SCALES_IN EPSILONS(Out, queryOut)(   \
            Out, queryRopeOut) SCALE_OUT,                                                                   \
        prolog(tokenX, WEIGHTS, SCALES,                                                                     \
               {rmsnormEpsilonCq, rmsnormEpsilonCkv, cacheModeOptional, weight_mode_of(tokenX, weightUqQr), \
                kv_mode_of(tokenX, quantScaleCkvOptional)},                                                 \
               ropeSin, ropeCos, {kvCacheRef, krCacheRef, cacheIndex, kNone},                               \
               {queryOut, queryRopeOut, QUERY_SCALE, NoTensor{}, NoTensor{}}))
#define QUERY_SCALE_OUT (OptOut, dequantScaleQNopeOutOptional)
PROLOG(MlaProlog, , NoTensor{})
PROLOG(MlaPrologV2WeightNz, QUERY_SCALE_OUT, dequantScaleQNopeOutOptional)
ACLNN(MlaPrologV3WeightNz,
      WEIGHTS_IN(Ref, kvCacheRef)(Ref, krCacheRef)(OptIndex, cacheIndexOptional)SCALES_IN(
          OptIndex, actualSeqLenOptional)(OptIn, kNopeClipAlphaOptional)
          EPSILONS(Int, weightQuantMode)(Int, kvCacheQuantMode)(Int, queryQuantMode)(Int, ckvkrRepoMode)(
              Int, quantScaleRepoMode)(Int, tileSize)(Double, qcQrScale)(Double, kcScale)(Out, queryOut)(Out,
                                                                                                         queryRopeOut)(
              OptOut, dequantScaleQNopeOutOptional)(OptOut, queryNormOutOptional)(OptOut, dequantScaleQNormOutOptional),
      check({kNopeClipAlphaOptional, queryQuantMode, kvCacheQuantMode, weightQuantMode, ckvkrRepoMode,
             quantScaleRepoMode});
      prolog(tokenX, WEIGHTS, SCALES,
             {rmsnormEpsilonCq, rmsnormEpsilonCkv, cacheModeOptional, weightQuantMode, kvCacheQuantMode, qcQrScale,
              kcScale},
             ropeSin, ropeCos, {kvCacheRef, krCacheRef, cacheIndexOptional, actualSeqLenOptional},
             {queryOut, queryRopeOut, dequantScaleQNopeOutOptional, queryNormOutOptional,
              dequantScaleQNormOutOptional}))

#undef WEIGHTS_IN
#undef SCALES_IN
#undef WEIGHTS
#undef SCALES
#undef EPSILONS
#undef PROLOG
#undef QUERY_SCALE_OUT
