// native/opapi/ops/kv_cache/kv_cache.cpp
// Writes into caches of keys and values, which lie as [B, N, S, D] or in pages, and reads from such.
#include <algorithm>

#include "opapi/ops/common/refusal.h"
#include "opapi/ops/kv_cache/paged_cache.h"
#include "opapi/ops/kv_cache/stored_keys.h"

namespace {

using namespace opapi::paged;

// ---- scattering finished keys and values

const char* layout_of(bool blocks, bool heads_first) {
  if (blocks) {
    return "allowed in mode PA_NZ: [pages, N * D / block, page size, block] or [pages, N, D / block, page size, block]";
  }
  return heads_first ? "allowed in mode Norm with NHSD: [pages, N, page size, D]"
                     : "allowed in mode Norm: [pages, page size, N, D]";
}

void scatter(const at::Tensor& tokens, at::Tensor& cache, const at::Tensor& slots, const std::string& cache_mode,
             const std::string& scatter_mode, const char* name) {
  const bool blocks = cache_mode == "PA_NZ";
  require(blocks || cache_mode.empty() || cache_mode == "Norm", ACLNN_ERR_PARAM_INVALID, "parameter 'cacheMode' is '",
          cache_mode, "'; available are Norm and PA_NZ");
  const bool heads_first = scatter_mode == "NHSD";
  require(heads_first || scatter_mode.empty() || scatter_mode == "None", ACLNN_ERR_PARAM_INVALID,
          "parameter 'scatterMode' is '", scatter_mode, "'; available are None and NHSD");
  require(tokens.dim() == 3 && slots.dim() == 1 && slots.size(0) == tokens.size(0), ACLNN_ERR_PARAM_INVALID,
          "parameter '", name, "' has shape ", tokens.sizes(), ", slotMapping ", slots.sizes(),
          "; available are [tokens, N, D] and [tokens] (without compression)");
  const char* const layout = layout_of(blocks, heads_first);
  require(cache.dim() == 4 || (blocks && cache.dim() == 5), ACLNN_ERR_PARAM_INVALID, "the cache of '", name,
          "' has shape ", cache.sizes(), "; ", layout);
  const Pages pages = blocks ? block_pages(cache) : plain_pages(cache, heads_first);
  require(room(pages) == tokens.size(1) * tokens.size(2), ACLNN_ERR_PARAM_INVALID, "the cache of '", name,
          "' has shape ", cache.sizes(), " with ", room(pages), " values for each token; '", name, "' has shape ",
          tokens.sizes(), "; ", layout);
  write(pages, tokens, slots, name);
}

constexpr const char* kCompressed = "compressed caches are not available";

// Of the key and of the value; torch_npu gives 1 and 0, the only ones whose meaning is known here.
void require_usual(at::OptionalIntArrayRef strides, at::OptionalIntArrayRef offsets) {
  const auto check = [](at::OptionalIntArrayRef given, int64_t usual, const char* name) {
    if (!given) return;
    const bool all = std::all_of(given->begin(), given->end(), [&](int64_t value) { return value == usual; });
    require(all, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' is ", *given, "; available is ", usual, " for each");
  };
  check(strides, 1, "strides");
  check(offsets, 0, "offsets");
}

// ---- gathering

// Rows of tokens in the order of their sequences, for the pages that a sequence has; what a page is missing for is 0.
// Sequences that `out` has no room for are cut, as on the device (gather_pa_kv_cache_nd.h in CANN's ops-transformer).
void gather(const Pages& pages, const at::Tensor& table, const at::Tensor& lengths, const OptionalTensor& offsets,
            at::Tensor& out, const char* name) {
  require(room(pages) * out.size(0) == out.numel(), ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ",
          out.sizes(), "; the cache has ", room(pages), " values for each token");
  const int64_t size = pages.tokens.size(1), width = table.size(1);
  require(size > 0, ACLNN_ERR_PARAM_INVALID, "the cache for '", name, "' has pages without tokens");
  int64_t start = 0;
  for (int64_t i = 0; i < table.size(0); ++i) {
    const int64_t length = std::min(lengths.select(0, i).item<int64_t>(), out.size(0) - start);
    if (length <= 0) continue;
    const int64_t first = offsets ? offsets->select(0, i).item<int64_t>() / size : 0;
    const at::Tensor token = at::arange(length);
    const at::Tensor entry = token.floor_divide(size).add_(first);
    const at::Tensor page = table.select(0, i).index_select(0, entry.clamp(0, width - 1));
    const at::Tensor missing = entry.lt(0).logical_or_(entry.ge(width));
    missing.logical_or_(page.lt(0)).logical_or_(page.ge(pages.tokens.size(0)));
    at::Tensor rows = pages.tokens.index({page.masked_fill(missing, 0), token.remainder(size)}).flatten(1);
    rows.masked_fill_(missing.unsqueeze(1), 0);
    at::Tensor target = out.narrow(0, start, length);
    target.copy_(rows.view(target.sizes()));
    start += length;
  }
}

Pages pages_of(const at::Tensor& cache, const std::string& mode) {
  require(mode.empty() || mode == "Norm" || mode == "PA_NZ", ACLNN_ERR_PARAM_INVALID, "parameter 'cacheMode' is '",
          mode, "'; available are Norm and PA_NZ");
  require(cache.dim() == 4, ACLNN_ERR_PARAM_INVALID, "a cache has shape ", cache.sizes(),
          "; it must have 4 dimensions");
  return mode == "PA_NZ" ? block_pages(cache) : plain_pages(cache);
}

void gather_both(const at::Tensor& key_cache, const at::Tensor& value_cache, const at::Tensor& table,
                 const at::Tensor& lengths, at::Tensor& key, at::Tensor& value, const OptionalTensor& offsets,
                 const std::string& mode, bool are_sums) {
  require(table.dim() == 2 && table.size(1) > 0 && lengths.dim() == 1 &&
              lengths.size(0) == table.size(0) + (are_sums ? 1 : 0),
          ACLNN_ERR_PARAM_INVALID, "blockTables and seqLens have shapes ", table.sizes(), " and ", lengths.sizes(),
          "; they must be [B, pages] and [B], or [B + 1] for sums");
  const at::Tensor counts = are_sums ? lengths.diff() : lengths;
  gather(pages_of(key_cache, mode), table, counts, offsets, key, "keyRef");
  gather(pages_of(value_cache, mode), table, counts, offsets, value, "valueRef");
}

// ---- normalised and rotated keys

// One slot for each token, from one for each page of a sequence, of which only the page counts.
at::Tensor slots_of_pages(const at::Tensor& index, int64_t batches, int64_t length, int64_t page_size) {
  const at::Tensor token = at::arange(length);
  const at::Tensor first = index.view({batches, -1}).index_select(1, token.floor_divide(page_size));
  const at::Tensor slots = first.floor_divide(page_size).mul_(page_size).add_(token.remainder(page_size));
  return slots.masked_fill(first.lt(0), -1).view(-1);
}

// values: [B, 1, S, D].
void store(const at::Tensor& values, at::Tensor& cache, const at::Tensor& index, const std::string& mode,
           const Quantization& quantization, const char* name) {
  const int64_t batches = values.size(0), length = values.size(2), width = values.size(3);
  require(cache.dim() == 4 && cache.size(3) == width, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ",
          cache.sizes(), "; it must have 4 dimensions, the last of ", width);
  const at::Tensor rows =
      quantized(values, quantization, cache, /*divides=*/false, name).reshape({batches * length, width});
  if (mode.empty() || mode == "Norm") {
    require(index.dim() == 2 && index.size(0) == batches && index.size(1) == length && cache.size(0) == batches &&
                cache.size(1) == 1,
            ACLNN_ERR_PARAM_INVALID, "index has shape ", index.sizes(), ", '", name, "' ", cache.sizes(),
            "; in mode Norm they must be [", batches, ", ", length, "] and [", batches, ", 1, positions, ", width, "]");
    const int64_t positions = cache.size(2);
    const int64_t highest = index.numel() == 0 ? -1 : index.max().item<int64_t>();
    require(highest < positions, ACLNN_ERR_PARAM_INVALID, "index ", highest, " is beyond the ", positions,
            " positions of '", name, "'");
    const at::Tensor slots = index.add(at::arange(batches).mul_(positions).unsqueeze(1)).masked_fill_(index.lt(0), -1);
    return write({cache.squeeze(1)}, rows, slots.view(-1), name);
  }
  const bool blocks = mode == "PA_NZ" || mode == "PA_BLK_NZ", by_page = mode == "PA_BLK_BNSD" || mode == "PA_BLK_NZ";
  require(blocks || by_page || mode == "PA" || mode == "PA_BNSD", ACLNN_ERR_PARAM_INVALID, "parameter 'cacheMode' is '",
          mode, "'; it must be Norm, PA, PA_BNSD, PA_NZ, PA_BLK_BNSD or PA_BLK_NZ");
  const int64_t page_size = page_size_of(cache, name);
  const int64_t needed = batches * (by_page ? (length + page_size - 1) / page_size : length);
  require(index.numel() == needed, ACLNN_ERR_PARAM_INVALID, "index has shape ", index.sizes(), "; in mode ", mode,
          " it must have ", needed, " elements");
  const at::Tensor slots = by_page ? slots_of_pages(index.reshape(-1), batches, length, page_size) : index.reshape(-1);
  write(blocks ? blocks_declared_plain(cache) : plain_pages(cache), rows, slots, name);
}

struct CacheOperands {
  const at::Tensor &kv, &gamma, &cos, &sin, &index;
  at::Tensor &key_cache, &value_cache;
  Quantization key, value;
  double epsilon;
  const std::string& mode;
};

void store_both(const CacheOperands& operands, const at::Tensor& key, const at::Tensor& value, bool wants_values,
                at::Tensor& key_out, at::Tensor& value_out) {
  refuse({{operands.key.offset, "kRopeOffset"}, {operands.value.offset, "cKvOffset"}},
         "only symmetric quantization is available");
  store(key, operands.key_cache, operands.index, operands.mode, operands.key, "kCacheRef");
  store(value, operands.value_cache, operands.index, operands.mode, operands.value, "ckvCacheRef");
  if (!wants_values) return;
  assign(key_out, key);
  assign(value_out, value);
}

// How many values of a token are rotated.
int64_t rotated_width(const CacheOperands& operands) {
  const at::Tensor &cos = operands.cos, &sin = operands.sin;
  require(cos.dim() > 0 && cos.size(-1) % 2 == 0 && cos.sizes() == sin.sizes(), ACLNN_ERR_PARAM_INVALID,
          "parameters 'cos' and 'sin' have shapes ", cos.sizes(), " and ", sin.sizes(),
          "; they must have one shape, whose last dimension is even");
  return cos.size(-1);
}

int64_t normalized_width(const CacheOperands& operands) {
  require(operands.gamma.dim() == 1, ACLNN_ERR_PARAM_INVALID, "parameter 'gamma' has shape ", operands.gamma.sizes(),
          "; it must have 1 dimension");
  return operands.gamma.size(0);
}

void check(const CacheOperands& operands, int64_t width) {
  const at::Tensor& kv = operands.kv;
  require(kv.dim() == 4 && kv.size(1) == 1 && kv.size(3) == width, ACLNN_ERR_PARAM_INVALID, "kv has shape ", kv.sizes(),
          "; it must be [B, 1, S, ", width, "]");
}

// kv holds what is normalised, the compressed value, and behind it what is rotated, the key.
void split_cache(const CacheOperands& operands, bool wants_values, at::Tensor& key_out, at::Tensor& value_out) {
  const int64_t value_width = normalized_width(operands), key_width = rotated_width(operands);
  check(operands, value_width + key_width);
  const at::Tensor kv = to_float(operands.kv);
  const at::Tensor value = normalized(kv.narrow(3, 0, value_width), operands.gamma, operands.epsilon);
  const at::Tensor key = rotate_neighbours(kv.narrow(3, value_width, key_width), operands.cos, operands.sin);
  store_both(operands, key, value, wants_values, key_out, value_out);
}

// kv is the key: normalised, and its first part rotated. The value is stored as it is.
void key_cache(const CacheOperands& operands, const at::Tensor& v, bool wants_values, at::Tensor& key_out,
               at::Tensor& value_out) {
  const int64_t rotated = rotated_width(operands), width = normalized_width(operands);
  check(operands, width);
  require(rotated <= width, ACLNN_ERR_PARAM_INVALID, "parameter 'cos' has shape ", operands.cos.sizes(),
          "; the keys have only ", width, " values to rotate");
  require(v.dim() == 4 && v.sizes().slice(0, 3) == operands.kv.sizes().slice(0, 3), ACLNN_ERR_PARAM_INVALID,
          "parameter 'v' has shape ", v.sizes(), "; kv has ", operands.kv.sizes(), ", of which all but the last agree");
  const at::Tensor key = normalized(to_float(operands.kv), operands.gamma, operands.epsilon);
  const at::Tensor turned = rotate_neighbours(key.narrow(3, 0, rotated), operands.cos, operands.sin);
  const at::Tensor joined = at::cat({turned, key.narrow(3, rotated, width - rotated)}, 3);
  store_both(operands, joined, to_float(v), wants_values, key_out, value_out);
}

}  // namespace

#define CACHE_IN                                                                                                    \
  (In, kv)(In, gamma)(In, cos)(In, sin)(Index, index)(Ref, kCacheRef)(Ref, ckvCacheRef)(OptIn, kRopeScaleOptional)( \
      OptIn, cKvScaleOptional)(OptIn, kRopeOffsetOptional)(OptIn, cKvOffsetOptional)
#define CACHE_OUT (Double, epsilon)(Text, cacheModeOptional)(Bool, isOutputKv)(OptOut, kRopeOut)(OptOut, cKvOut)
#define OPERANDS                              \
  {kv,                                        \
   gamma,                                     \
   cos,                                       \
   sin,                                       \
   index,                                     \
   kCacheRef,                                 \
   ckvCacheRef,                               \
   {kRopeScaleOptional, kRopeOffsetOptional}, \
   {cKvScaleOptional, cKvOffsetOptional},     \
   epsilon,                                   \
   cacheModeOptional}

ACLNN(KvRmsNormRopeCache, CACHE_IN CACHE_OUT, split_cache(OPERANDS, isOutputKv, kRopeOut, cKvOut))
ACLNN(KvRmsNormRopeCacheV2, CACHE_IN(OptIn, vOptional) CACHE_OUT,
      vOptional ? key_cache(OPERANDS, *vOptional, isOutputKv, kRopeOut, cKvOut)
                : split_cache(OPERANDS, isOutputKv, kRopeOut, cKvOut))

#define COMPRESSION                                  \
  {{compressLensOptional, "compressLens"},           \
   {compressSeqOffsetOptional, "compressSeqOffset"}, \
   {seqLensOptional, "seqLens"}}
ACLNN(
    ScatterPaKvCache,
    (In, key)(Ref, keyCacheRef)(Index, slotMapping)(OptIn, value)(OptOut, valueCacheRef)(OptIn, compressLensOptional)(
        OptIn, compressSeqOffsetOptional)(OptIn, seqLensOptional)(Text, cacheModeOptional)(Text, scatterModeOptional)(
        OptInts, stridesOptional)(OptInts, offsetsOptional),
    refuse(COMPRESSION, kCompressed);
    require_usual(stridesOptional, offsetsOptional);
    scatter(key, keyCacheRef, slotMapping, cacheModeOptional, scatterModeOptional, "key");
    if (value && value->numel() > 0) {
      scatter(*value, valueCacheRef, slotMapping, cacheModeOptional, scatterModeOptional, "value");
    })
// The mode has no effect, as documented: [pages, page size, N, D].
ACLNN(ScatterPaCache,
      (In, key)(Ref, keyCacheRef)(Index, slotMapping)(OptIn, compressLensOptional)(OptIn, compressSeqOffsetOptional)(
          OptIn, seqLensOptional)(Text, cacheMode),
      refuse(COMPRESSION, kCompressed);
      scatter(key, keyCacheRef, slotMapping, "Norm", "None", "key"))
ACLNN(GatherPaKvCache,
      (In, keyCache)(In, valueCache)(Index, blockTables)(Index, seqLens)(Ref, keyRef)(Ref, valueRef)(
          OptIndex, seqOffsetOptional)(Text, cacheMode)(Bool, isSeqLensCumsum),
      gather_both(keyCache, valueCache, blockTables, seqLens, keyRef, valueRef, seqOffsetOptional, cacheMode,
                  isSeqLensCumsum))

#undef CACHE_IN
#undef CACHE_OUT
#undef OPERANDS
#undef COMPRESSION
