// native/opapi/ops/kv_cache/cached_rotary.cpp
// Rotary position embeddings whose angles come from a table, or whose keys go into a cache. Computed in float32.
#include "opapi/ops/kv_cache/paged_cache.h"
#include "opapi/ops/kv_cache/stored_keys.h"

namespace {

using namespace opapi::paged;

// ---- angles from a table

struct Angles {
  at::Tensor cos, sin;  // [tokens, 1, half of the rotated width]
};

// Each of several positions of a token gives some of its angles: one range after the other, or, interleaved, every
// third of the first 3 * sections[1].
at::Tensor mixed(const at::Tensor& all, at::IntArrayRef sections, bool interleaved) {
  if (interleaved) {
    at::Tensor result = all.select(0, 0).clone();
    for (int64_t i = 1; i < 3; ++i) {
      const at::Tensor source = all.select(0, i).slice(1, i, sections[1] * 3, 3);
      result.slice(1, i, sections[1] * 3, 3).copy_(source);
    }
    return result;
  }
  std::vector<at::Tensor> parts;
  int64_t start = 0;
  for (size_t i = 0; i < sections.size(); ++i) {
    parts.push_back(all.select(0, static_cast<int64_t>(i)).narrow(1, start, sections[i]));
    start += sections[i];
  }
  return at::cat(parts, 1);
}

Angles angles_at(const at::Tensor& positions, const at::Tensor& table, at::IntArrayRef sections, int64_t cache_mode) {
  require(table.dim() == 2 && table.size(1) % 2 == 0, ACLNN_ERR_PARAM_INVALID, "parameter 'cosSinCache' has shape ",
          table.sizes(), "; it must be [positions, an even width]");
  require(cache_mode == 0 || cache_mode == 1, ACLNN_ERR_PARAM_INVALID, "parameter 'cacheMode' is ", cache_mode,
          "; it must be 0 (default) or 1 (interleave)");
  const at::Tensor rows = to_float(table).index_select(0, positions.reshape(-1));
  std::vector<at::Tensor> halves = rows.chunk(2, 1);
  if (positions.dim() == 2) {
    const int64_t half = table.size(1) / 2, kinds = static_cast<int64_t>(sections.size());
    const int64_t sum = c10::sum_integers(sections);
    const bool interleaved = cache_mode == 1;
    require(kinds == positions.size(0) && (interleaved ? kinds == 3 : sum == half), ACLNN_ERR_PARAM_INVALID,
            "parameter 'mropeSection' is ", sections, " for positions of shape ", positions.sizes(), " and ", half,
            " angles; it must have a section for each row, ",
            interleaved ? "of which there are 3" : "which together are all angles");
    for (at::Tensor& part : halves) part = mixed(part.view({kinds, -1, half}), sections, interleaved);
  } else {
    require(positions.dim() == 1, ACLNN_ERR_PARAM_INVALID, "parameter 'positions' has shape ", positions.sizes(),
            "; it must have 1 or 2 dimensions");
  }
  return {halves[0].unsqueeze(1), halves[1].unsqueeze(1)};
}

void embed(const at::Tensor& tokens, const Angles& angles, int64_t head_size, bool halves, at::Tensor& out) {
  const int64_t count = angles.cos.size(0), rotated = angles.cos.size(2) * 2;
  if (tokens.numel() == 0) return;
  require(count > 0 && head_size > 0 && rotated <= head_size && tokens.numel() % (count * head_size) == 0,
          ACLNN_ERR_PARAM_INVALID, "query or key has shape ", tokens.sizes(), "; it must be ", count,
          " tokens of heads of ", head_size, ", of which ", rotated, " are rotated");
  at::Tensor result = to_float(tokens).reshape({count, -1, head_size}).clone();
  const at::Tensor turned = result.narrow(2, 0, rotated);
  at::Tensor first = halves ? turned.narrow(2, 0, rotated / 2) : turned.slice(2, 0, rotated, 2);
  at::Tensor second = halves ? turned.narrow(2, rotated / 2, rotated / 2) : turned.slice(2, 1, rotated, 2);
  const at::Tensor a = first.clone(), b = second.clone();
  first.copy_(at::mul(a, angles.cos).addcmul_(b, angles.sin, -1));
  second.copy_(at::mul(b, angles.cos).addcmul_(a, angles.sin));
  assign(out, result.view(out.sizes()));
}

void embed_both(const at::Tensor& positions, const at::Tensor& query, const at::Tensor& key, const at::Tensor& table,
                at::IntArrayRef sections, int64_t head_size, bool halves, int64_t cache_mode, at::Tensor& query_out,
                at::Tensor& key_out) {
  if (query.numel() == 0 && key.numel() == 0) return;
  const Angles angles = angles_at(positions, table, sections, cache_mode);
  embed(query, angles, head_size, halves, query_out);
  embed(key, angles, head_size, halves, key_out);
}

// ---- a joint projection, normalised, rotated, and stored

struct JointOperands {
  const at::Tensor &qkv, &q_gamma, &k_gamma, &cos, &sin, &index;
  at::Tensor &q_out, &k_cache, &v_cache;
  Quantization k, v;
  at::IntArrayRef size, heads;
  double epsilon;
  const std::string& mode;
};

void store_blocks(const at::Tensor& values, const Quantization& quantization, at::Tensor& cache,
                  const at::Tensor& index, const char* name) {
  require(cache.dim() == 4 && cache.size(1) * cache.size(3) == values.size(1) * values.size(2), ACLNN_ERR_PARAM_INVALID,
          "parameter '", name, "' has shape ", cache.sizes(), "; it must be [pages, ", values.size(1), " * ",
          values.size(2), " / block, page size, block]");
  write(block_pages(cache), quantized(values, quantization, cache, /*divides=*/true, name), index, name);
}

void norm_rotate_store(const JointOperands& operands, at::Tensor& q_before, at::Tensor& k_before,
                       at::Tensor& v_before) {
  require(operands.size.size() == 4 && operands.heads.size() == 3, ACLNN_ERR_PARAM_INVALID, "qkvSize and headNums are ",
          operands.size, " and ", operands.heads, "; they must be [B, S, N, D] and [Nq, Nk, Nv]");
  const int64_t tokens = operands.size[0] * operands.size[1], width = operands.size[3];
  const int64_t sum = c10::sum_integers(operands.heads);
  require(operands.size[2] == sum && operands.qkv.dim() == 2 && operands.qkv.size(0) == tokens &&
              operands.qkv.size(1) == sum * width,
          ACLNN_ERR_PARAM_INVALID, "parameter 'qkv' has shape ", operands.qkv.sizes(), " for qkvSize ", operands.size,
          " and headNums ", operands.heads, "; it must be [B * S, (Nq + Nk + Nv) * D]");
  require(operands.mode == "PA_NZ", ACLNN_ERR_PARAM_INVALID, "parameter 'cacheMode' is '", operands.mode,
          "'; available is PA_NZ");
  require(operands.cos.sizes() == operands.sin.sizes() && operands.cos.dim() == 2 && operands.cos.size(0) == tokens &&
              operands.cos.size(1) == width,
          ACLNN_ERR_PARAM_INVALID, "cos and sin have shapes ", operands.cos.sizes(), " and ", operands.sin.sizes(),
          "; they must be [", tokens, ", ", width, "]");
  require(operands.index.dim() == 1 && operands.index.size(0) == tokens, ACLNN_ERR_PARAM_INVALID,
          "parameter 'index' has shape ", operands.index.sizes(), "; it must be [", tokens, "]");
  const at::Tensor cos = operands.cos.unsqueeze(1), sin = operands.sin.unsqueeze(1);
  const std::vector<at::Tensor> parts =
      to_float(operands.qkv).view({tokens, sum, width}).split_with_sizes(operands.heads, 1);
  const at::Tensor q = rotate_halves(normalized(parts[0], operands.q_gamma, operands.epsilon), cos, sin);
  const at::Tensor k = rotate_halves(normalized(parts[1], operands.k_gamma, operands.epsilon), cos, sin);
  assign(operands.q_out, q.flatten(1));
  store_blocks(k, operands.k, operands.k_cache, operands.index, "kCache");
  store_blocks(parts[2], operands.v, operands.v_cache, operands.index, "vCache");
  if (q_before.defined()) assign(q_before, q.flatten(1));
  if (k_before.defined()) assign(k_before, k.flatten(1));
  if (v_before.defined()) assign(v_before, parts[2].flatten(1));
}

// ---- a joint projection, dequantised, rotated, quantised and stored

struct DequantOperands {
  const at::Tensor &x, &cos, &sin;
  const OptionalTensor &weight_scale, &activation_scale, &bias;
};

at::Tensor dequantized(const DequantOperands& operands) {
  if (operands.x.scalar_type() != at::kInt) return to_float(operands.x);
  require(operands.weight_scale.has_value(), ACLNN_ERR_PARAM_NULLPTR, "parameter 'weightScale' is needed for int32 x");
  const bool whole = operands.bias && operands.bias->scalar_type() == at::kInt;
  at::Tensor result = to_float(whole ? at::add(operands.x, *operands.bias) : operands.x).mul(*operands.weight_scale);
  if (operands.activation_scale) {
    at::DimVector rows(operands.x.sizes());
    rows.back() = 1;
    result.mul_(operands.activation_scale->reshape(rows));
  }
  if (operands.bias && !whole) result.add_(to_float(*operands.bias));
  return result;
}

// values: [B, S, N, D]. Each sequence from its place on, or each token into its slot.
void store_rows(const at::Tensor& values, at::Tensor& cache, const at::Tensor& indices, bool paged, const char* name) {
  require(cache.dim() == 4 && cache.size(2) == values.size(2) && cache.size(3) == values.size(3),
          ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ", cache.sizes(), "; it must end with [",
          values.size(2), ", ", values.size(3), "]");
  const int64_t batches = values.size(0), length = values.size(1);
  const int64_t needed = paged ? batches * length : batches;
  require(indices.numel() == needed, ACLNN_ERR_PARAM_INVALID, "parameter 'indices' has shape ", indices.sizes(),
          "; it must have ", needed, " elements");
  at::Tensor slots = indices.reshape(-1);
  if (!paged) {
    const int64_t positions = cache.size(1);
    require(batches <= cache.size(0) && slots.add(length).le(positions).logical_and_(slots.ge(0)).all().item<bool>(),
            ACLNN_ERR_PARAM_INVALID, "parameter 'indices' has a place that is not in '", name, "', ", cache.sizes());
    slots = at::arange(batches).mul_(positions).add_(slots).unsqueeze(1).add(at::arange(length)).view(-1);
  }
  write(plain_pages(cache), values.flatten(0, 1), slots, name);
}

struct Caches {
  at::Tensor &key, &value;
  const at::Tensor& indices;
  Quantization k, v;
};

void dequant_rotate_store(const DequantOperands& operands, const Caches& caches, at::IntArrayRef sizes,
                          const std::string& quant_mode, const std::string& layout, const std::string& cache_mode,
                          bool wants_kv, at::Tensor& q_out, at::Tensor& k_out, at::Tensor& v_out) {
  require(quant_mode.empty() || quant_mode == "static", ACLNN_ERR_PARAM_INVALID, "parameter 'quantMode' is '",
          quant_mode, "'; it must be static");
  require(layout.empty() || layout == "BSND", ACLNN_ERR_PARAM_INVALID, "parameter 'layout' is '", layout,
          "'; it must be BSND");
  const bool paged = cache_mode == "page";
  require(paged || cache_mode.empty() || cache_mode == "contiguous", ACLNN_ERR_PARAM_INVALID,
          "parameter 'cacheMode' is '", cache_mode, "'; it must be contiguous or page");
  const int64_t width = operands.cos.size(-1), dims = operands.x.dim();
  require((dims == 2 || dims == 3) && width > 0 && sizes.size() == 3 &&
              c10::sum_integers(sizes) == operands.x.size(-1) && sizes[0] % width == 0 && sizes[1] % width == 0 &&
              sizes[2] % width == 0,
          ACLNN_ERR_PARAM_INVALID, "x has shape ", operands.x.sizes(), " and sizeSplits is ", sizes,
          "; they must be [B, (S,) H], and three multiples of ", width, " that are H together");
  at::Tensor x = dequantized(operands);
  if (dims == 2) x = x.unsqueeze(1);
  const auto angle = [&](const at::Tensor& tensor) { return tensor.reshape({x.size(0), -1, 1, width}); };
  const at::Tensor cos = angle(operands.cos), sin = angle(operands.sin);
  std::vector<at::Tensor> parts = x.split_with_sizes(sizes, 2);
  for (at::Tensor& part : parts) part = part.unflatten(2, {-1, width});
  const at::Tensor q = rotate_halves(parts[0], cos, sin), k = rotate_halves(parts[1], cos, sin);
  store_rows(quantized(k, caches.k, caches.key, /*divides=*/false, "kCacheRef"), caches.key, caches.indices, paged,
             "kCacheRef");
  store_rows(quantized(parts[2], caches.v, caches.value, /*divides=*/false, "vCacheRef"), caches.value, caches.indices,
             paged, "vCacheRef");
  assign(q_out, q.view(q_out.sizes()));
  if (!wants_kv) return;
  assign(k_out, k.view(k_out.sizes()));
  assign(v_out, parts[2].reshape(v_out.sizes()));
}

}  // namespace

#define TABLE_IN \
  (Index, positions)(In, queryIn)(In, keyIn)(In, cosSinCache)(OptInts, mropeSection)(Int, headSize)(Bool, isNeoxStyle)
ACLNN(RopeWithSinCosCache, TABLE_IN(Out, queryOut)(Out, keyOut),
      embed_both(positions, queryIn, keyIn, cosSinCache, mropeSection.value_or(at::IntArrayRef()), headSize,
                 isNeoxStyle, 0, queryOut, keyOut))
ACLNN(RopeWithSinCosCacheV2, TABLE_IN(Int, cacheMode)(Out, queryOut)(Out, keyOut),
      embed_both(positions, queryIn, keyIn, cosSinCache, mropeSection.value_or(at::IntArrayRef()), headSize,
                 isNeoxStyle, cacheMode, queryOut, keyOut))

ACLNN(QkvRmsNormRopeCache,
      (In, qkv)(In, qGamma)(In, kGamma)(In, cos)(In, sin)(Index, index)(Ref, qOut)(Ref, kCache)(Ref, vCache)(
          OptIn, kScaleOptional)(OptIn, vScaleOptional)(OptIn, kOffsetOptional)(OptIn, vOffsetOptional)(Ints, qkvSize)(
          Ints, headNums)(Double, epsilon)(Text, cacheModeOptional)(OptOut, qOutBeforeQuant)(OptOut, kOutBeforeQuant)(
          OptOut, vOutBeforeQuant),
      norm_rotate_store({qkv,
                         qGamma,
                         kGamma,
                         cos,
                         sin,
                         index,
                         qOut,
                         kCache,
                         vCache,
                         {kScaleOptional, kOffsetOptional},
                         {vScaleOptional, vOffsetOptional},
                         qkvSize,
                         headNums,
                         epsilon,
                         cacheModeOptional},
                        qOutBeforeQuant, kOutBeforeQuant, vOutBeforeQuant))

ACLNN(DequantRopeQuantKvcache,
      (In, x)(In, cos)(In, sin)(Ref, kCacheRef)(Ref, vCacheRef)(Index, indices)(OptIn, scaleK)(OptIn, scaleV)(
          OptIn, offsetKOptional)(OptIn, offsetVOptional)(OptIn, weightScaleOptional)(OptIn, activationScaleOptional)(
          OptIn, biasOptional)(Ints, sizeSplits)(Text, quantModeOptional)(Text, layoutOptional)(Bool, kvOutput)(
          Text, cacheModeOptional)(Out, qOut)(OptOut, kOut)(OptOut, vOut),
      dequant_rotate_store({x, cos, sin, weightScaleOptional, activationScaleOptional, biasOptional},
                           {kCacheRef, vCacheRef, indices, {scaleK, offsetKOptional}, {scaleV, offsetVOptional}},
                           sizeSplits, quantModeOptional, layoutOptional, cacheModeOptional, kvOutput, qOut, kOut,
                           vOut))

#undef TABLE_IN
