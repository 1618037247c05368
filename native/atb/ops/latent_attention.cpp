// native/atb/ops/latent_attention.cpp
// Multi-head latent attention. Query and key come in two parts, of which the second is the rotated one.
// AtbMLA: over a cache in blocks, whose compressed part is the value too. AtbRingMLA: over tokens, with the result of
// other keys (calcType 0) joined to this one's.
#include "atb/named_call.h"
#include "atb/ops/sequences.h"

using namespace opwright::atb_library;  // NOLINT: as in tables of libopapi

namespace {

// ---- over blocks

struct CacheTensors {
  const at::Tensor &query, &query_rope, &cache, &key_rope, &block_tables;
  const OptionalTensor& mask;
};

void attend_cache(const CacheTensors& tensors, at::IntArrayRef context_lens, at::OptionalIntArrayRef query_lens,
                  double scale, bool is_causal, at::Tensor& out, at::Tensor& lse) {
  const int64_t tokens = tensors.query.size(0), heads = tensors.query.size(1);
  const std::vector<Sequence> sequences =
      query_lens ? sequences_of(*query_lens, context_lens, tokens) : single_queries(context_lens, tokens);
  const at::Tensor query = at::cat({tensors.query, tensors.query_rope}, -1);
  for (const Sequence& sequence : sequences) {
    if (sequence.queries == 0) continue;
    require(!is_causal || sequence.keys >= sequence.queries, ACLNN_ERR_PARAM_INVALID, "sequence ", sequence.index,
            " has ", sequence.queries, " queries and ", sequence.keys, " keys; the queries are its last tokens");
    const at::Tensor latent = tokens_of(tensors.cache, tensors.block_tables, sequence, "ctKV");
    const at::Tensor rope = tokens_of(tensors.key_rope, tensors.block_tables, sequence, "kRope");
    attention::Problem problem;
    problem.query = by_head(query.narrow(0, sequence.start, sequence.queries));
    problem.key = by_head(at::cat({latent, rope}, -1));
    problem.value = by_head(latent);
    problem.scale = scale;
    problem.scale_position = false;
    if (tensors.mask) {
      const at::Tensor& mask = *tensors.mask;
      require(mask.size(0) >= tokens, ACLNN_ERR_PARAM_INVALID, "parameter 'mask' has shape ", mask.sizes(),
              "; it must have a row for each of the ", tokens, " tokens");
      problem.position =
          added_mask(mask.narrow(0, sequence.start, sequence.queries), sequence, /*by_heads=*/false, heads);
    }
    if (is_causal) problem.hidden = keys_after(sequence, sequence.keys - sequence.queries);
    const attention::Result result = attention::forward(problem);
    write_rows(out, sequence, result.out);
    if (lse.defined()) write_rows(lse, sequence, log_sum(result));
  }
}

// ---- over tokens

struct RingTensors {
  const at::Tensor &query, &query_rope, &key, &key_rope, &value;
  const OptionalTensor &earlier_out, &earlier_lse;
};

// Joins the results over two sets of keys.
void join(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& earlier_out, const at::Tensor& earlier_lse,
          const at::Tensor& blind, at::Tensor& joined_out, at::Tensor& joined_lse) {
  const at::Tensor here = lse.masked_fill(blind, -kInfinity);
  joined_lse = at::logaddexp(here, earlier_lse);
  joined_out = at::mul(out, here.sub(joined_lse).exp_()).add_(earlier_out.mul(earlier_lse.sub(joined_lse).exp_()));
}

void attend_ring(const RingTensors& tensors, at::IntArrayRef query_lens, at::IntArrayRef key_lens, double scale,
                 bool is_causal, at::Tensor& out, at::Tensor& softmax_lse) {
  const at::Tensor query = at::cat({tensors.query, tensors.query_rope}, -1);
  const at::Tensor key = at::cat({tensors.key, tensors.key_rope}, -1);
  int64_t first_key = 0;
  for (const Sequence& sequence : sequences_of(query_lens, key_lens, query.size(0))) {
    require(first_key + sequence.keys <= key.size(0), ACLNN_ERR_PARAM_INVALID,
            "the lengths of the sequences need more than the ", key.size(0), " tokens of 'keySplit1'");
    const int64_t begin = first_key;
    first_key += sequence.keys;
    if (sequence.queries == 0) continue;
    attention::Problem problem;
    problem.query = by_head(query.narrow(0, sequence.start, sequence.queries));
    problem.key = by_head(key.narrow(0, begin, sequence.keys));
    problem.value = by_head(tensors.value.narrow(0, begin, sequence.keys));
    problem.scale = scale;
    if (is_causal) problem.hidden = keys_after(sequence, 0);
    const attention::Result result = attention::forward(problem);
    at::Tensor values = result.out, lse = log_sum(result);
    if (tensors.earlier_out) {
      const at::Tensor earlier = by_head(tensors.earlier_out->narrow(0, sequence.start, sequence.queries));
      const at::Tensor earlier_lse =
          to_float(tensors.earlier_lse->narrow(1, sequence.start, sequence.queries)).unsqueeze(0).unsqueeze(-1);
      join(result.out, log_sum(result), earlier, earlier_lse, result.blind, values, lse);
    }
    write_rows(out, sequence, values);
    softmax_lse.narrow(1, sequence.start, sequence.queries).copy_(lse.squeeze(0).squeeze(-1));
  }
}

}  // namespace

ATB_FUNCTION(AtbMLA,
             (In, qNope)(In, qRope)(In, ctKV)(In, kRope)(Index, blockTables)(Ints, contextLens)(OptIn, mask)(
                 OptInts, qSeqLen)(Double, qkScale)(Bool, isCausal)(Out, attenOut)(OptOut, lse),
             attend_cache({qNope, qRope, ctKV, kRope, blockTables, mask}, contextLens, qSeqLen, qkScale, isCausal,
                          attenOut, lse))
ATB_FUNCTION(AtbRingMLA,
             (In, querySplit1)(In, querySplit2)(In, keySplit1)(In, keySplit2)(In, value)(Ints, qSeqLen)(Ints, kvSeqLen)(
                 OptIn, prevOut)(OptIn, prevLse)(Double, qkScale)(Bool, isCausal)(Out, output)(Out, softmaxLse),
             attend_ring({querySplit1, querySplit2, keySplit1, keySplit2, value, prevOut, prevLse}, qSeqLen, kvSeqLen,
                         qkScale, isCausal, output, softmaxLse))

namespace {

// ---- checks

constexpr int64_t kLatent = 512, kRotated = 64, kPage = 128, kSplit = 128;

void require_part(const aclTensor& tensor, const char* name, int64_t heads, int64_t width, aclDataType dtype) {
  require_rank(tensor, name, {3});
  require_dtype(tensor, name, {dtype});
  require_size(tensor, name, 1, heads, "the number of heads");
  require_size(tensor, name, 2, width, "the only size that the operation has");
}

void require_half(const aclTensor& tensor, const char* name) { require_dtype(tensor, name, {ACL_FLOAT16, ACL_BF16}); }

void check_latent_cache(const aclTensor& cache, const char* name, int64_t width, aclDataType dtype) {
  require_rank(cache, name, {4});
  require_dtype(cache, name, {dtype});
  require_size(cache, name, 1, kPage, "the only size that blocks have");
  require_size(cache, name, 2, 1, "one head for all heads of the query");
  require_size(cache, name, 3, width, "the only size that the operation has");
}

struct LatentCall {
  int32_t heads;
  float scale;
  int32_t key_heads;
  int mask_type, calc_type;
  uint8_t cache_mode;
};

enum LatentCalc { kPlain = 0, kSpec = 1, kRing = 2 };
enum LatentMask { kNoMask = 0, kRows = 1, kFree = 2 };

void check(const LatentCall& call) {
  const bool is_known =
      call.heads == 8 || call.heads == 16 || call.heads == 32 || call.heads == 64 || call.heads == 128;
  require_param(is_known, "headNum", call.heads, "8, 16, 32, 64, 128");
  require_param(call.key_heads == 1, "kvHeadNum", call.key_heads, "1");
  require_param(call.scale > 0 && call.scale <= 1, "qkScale", call.scale, "above 0, at most 1");
  require_param(call.cache_mode == 1, "cacheMode", int{call.cache_mode},
                "1 (krope_ctkv): caches in format NZ (int8_nzcache, nzcache) are not available on the twin");
  require_param(call.calc_type >= kPlain && call.calc_type <= kRing, "calcType", call.calc_type,
                "0 (calc_type_undefined), 1 (calc_type_spec), 2 (calc_type_ring)");
  require_param(
      call.mask_type == kNoMask || (call.calc_type == kSpec && (call.mask_type == kRows || call.mask_type == kFree)),
      "maskType", call.mask_type,
      "0 (undefined); with calcType 1 (calc_type_spec) also 1 (mask_type_spec), 2 (mask_type_free)");
}

// The mask of mask_type_free has rows for any length of a sequence, so it stands for positions: its contents are not
// read.
void check_mask(const aclTensor& mask, int type) {
  require_rank(mask, "mask", {2});
  require_half(mask, "mask");
  if (type == kFree) require_size(mask, "mask", 1, kPage, "in maskType 2 (mask_type_free)");
}

aclnnStatus prepare_latent(const LatentCall& call, const aclTensor& query, const aclTensor& query_rope,
                           const aclTensor& cache, const aclTensor& key_rope, const aclTensor& block_tables,
                           const aclTensor& context, const aclTensor* mask, const aclTensor* query_lens, aclTensor& out,
                           aclTensor* lse, uint64_t* size, aclOpExecutor** executor) {
  check(call);
  require_half(query, "qNope");
  require_part(query, "qNope", call.heads, kLatent, query.dtype);
  require_part(query_rope, "qRope", call.heads, kRotated, query.dtype);
  require_size(query_rope, "qRope", 0, query.sizes[0], "as 'qNope'");
  check_latent_cache(cache, "ctKV", kLatent, query.dtype);
  check_latent_cache(key_rope, "kRope", kRotated, query.dtype);
  require_size(key_rope, "kRope", 0, cache.sizes[0], "as 'ctKV'");
  const aclIntArray lengths = host_numbers(context, "contextLens");
  require_rank(block_tables, "blockTables", {2});
  require_dtype(block_tables, "blockTables", {ACL_INT32});
  require(block_tables.sizes[0] >= static_cast<int64_t>(lengths.values.size()), atb::ERROR_INVALID_TENSOR_DIM,
          "parameter 'blockTables' has shape ", to_string(block_tables.sizes), "; it must have a row for each of the ",
          lengths.values.size(), " sequences of contextLens");
  require_sizes(out, "attenOut", query.sizes, "as 'qNope'");
  require_dtype(out, "attenOut", {query.dtype});
  if (call.mask_type != kNoMask) check_mask(given(mask, "mask"), call.mask_type);
  std::optional<aclIntArray> queries;
  if (call.calc_type == kSpec) queries = host_numbers(given(query_lens, "qSeqLen"), "qSeqLen");
  aclTensor* const used_lse = call.calc_type == kRing ? &given(lse, "lse") : nullptr;
  if (used_lse != nullptr) {
    const int64_t sizes[] = {query.sizes[0], query.sizes[1], 1};
    require_sizes(*used_lse, "lse", {sizes, 3}, "a number for each token and head");
    require_dtype(*used_lse, "lse", {query.dtype});
  }
  return operations::AtbMLA::prepare(&query, &query_rope, &cache, &key_rope, &block_tables, &lengths,
                                     call.mask_type == kRows ? mask : nullptr, queries ? &*queries : nullptr,
                                     call.scale, call.mask_type == kFree, &out, used_lse, size, executor);
}

struct RingCall {
  int32_t heads, key_heads;
  float scale;
  int kernel_type, mask_type, layout, calc_type;
};

void check(const RingCall& call) {
  require_param(call.heads > 0, "headNum", call.heads, "1 and more");
  require_param(call.key_heads >= 0 && (call.key_heads == 0 || call.heads % call.key_heads == 0), "kvHeadNum",
                call.key_heads, "0, or a divisor of headNum");
  require_param(call.kernel_type == 1, "kernelType", call.kernel_type, "1 (kernel_type_high_precision)");
  require_param(call.mask_type == 0 || call.mask_type == 1, "maskType", call.mask_type,
                "0 (no_mask), 1 (mask_type_triu)");
  require_param(call.layout == 0, "inputLayout", call.layout, "0 (type_bsnd)");
  require_param(call.calc_type == 0 || call.calc_type == 1, "calcType", call.calc_type,
                "0 (calc_type_default), 1 (calc_type_first_ring)");
}

struct RingOperands {
  const aclTensor &query, &query_rope, &key, &key_rope, &value, &lengths;
  const aclTensor *earlier_out, *earlier_lse;
  aclTensor &out, &lse;
};

aclnnStatus prepare_ring(const RingCall& call, const RingOperands& operands, uint64_t* size, aclOpExecutor** executor) {
  check(call);
  const aclTensor& query = operands.query;
  const int64_t key_heads = call.key_heads > 0 ? call.key_heads : call.heads;
  require_half(query, "querySplit1");
  require_part(query, "querySplit1", call.heads, kSplit, query.dtype);
  require_part(operands.query_rope, "querySplit2", call.heads, kRotated, query.dtype);
  require_size(operands.query_rope, "querySplit2", 0, query.sizes[0], "as 'querySplit1'");
  require_part(operands.key, "keySplit1", key_heads, kSplit, query.dtype);
  require_part(operands.key_rope, "keySplit2", key_heads, kRotated, query.dtype);
  require_part(operands.value, "value", key_heads, kSplit, query.dtype);
  for (const auto& [tensor, name] : {std::pair{&operands.key_rope, "keySplit2"}, std::pair{&operands.value, "value"}}) {
    require_size(*tensor, name, 0, operands.key.sizes[0], "as 'keySplit1'");
  }
  require_sizes(operands.out, "output", query.sizes, "as 'querySplit1'");
  require_dtype(operands.out, "output", {query.dtype});
  const int64_t sizes[] = {call.heads, query.sizes[0]};
  require_sizes(operands.lse, "softmaxLse", {sizes, 2}, "heads and tokens");
  require_dtype(operands.lse, "softmaxLse", {ACL_FLOAT});
  const aclTensor* earlier_out = nullptr;
  const aclTensor* earlier_lse = nullptr;
  if (call.calc_type == 0) {
    earlier_out = &given(operands.earlier_out, "prevOut");
    earlier_lse = &given(operands.earlier_lse, "prevLse");
    require_sizes(*earlier_out, "prevOut", query.sizes, "as 'output'");
    require_dtype(*earlier_out, "prevOut", {query.dtype});
    require_dtype(*earlier_lse, "prevLse", {ACL_FLOAT});
    require_sizes(*earlier_lse, "prevLse", {sizes, 2}, "as 'softmaxLse'");
  }
  require_rank(operands.lengths, "seqLen", {1, 2});
  const aclIntArray numbers = host_numbers(operands.lengths, "seqLen");
  const bool has_both = operands.lengths.sizes.size() == 2;
  if (has_both) require_size(operands.lengths, "seqLen", 0, 2, "queries and keys");
  const auto count = static_cast<std::ptrdiff_t>(has_both ? operands.lengths.sizes[1] : operands.lengths.sizes[0]);
  const aclIntArray queries{{numbers.values.begin(), numbers.values.begin() + count}};
  const aclIntArray keys{{numbers.values.end() - count, numbers.values.end()}};
  return operations::AtbRingMLA::prepare(&query, &operands.query_rope, &operands.key, &operands.key_rope,
                                         &operands.value, &queries, &keys, earlier_out, earlier_lse, call.scale,
                                         call.mask_type == 1, &operands.out, &operands.lse, size, executor);
}

}  // namespace

extern "C" {

OPWRIGHT_API atb::Status AtbMLAGetWorkspaceSize(const aclTensor* qNope, const aclTensor* qRope, const aclTensor* ctKV,
                                                const aclTensor* kRope, const aclTensor* blockTables,
                                                const aclTensor* contextLens, const aclTensor* mask,
                                                const aclTensor* qSeqLen, const aclTensor* qkDescale,
                                                const aclTensor* pvDescale, int32_t headNum, float qkScale,
                                                int32_t kvHeadNum, int maskType, int calcType, uint8_t cacheMode,
                                                aclTensor* attenOut, aclTensor* lse, uint64_t* workspaceSize,
                                                atb::Operation** operation, atb::Context*) {
  const auto prepare = [&](uint64_t* size, aclOpExecutor** executor) {
    require(qkDescale == nullptr && pvDescale == nullptr, atb::ERROR_INVALID_PARAM,
            "parameters 'qkDescale' and 'pvDescale' belong to caches in int8, which are not available on the twin");
    return prepare_latent({headNum, qkScale, kvHeadNum, maskType, calcType, cacheMode}, given(qNope, "qNope"),
                          given(qRope, "qRope"), given(ctKV, "ctKV"), given(kRope, "kRope"),
                          given(blockTables, "blockTables"), given(contextLens, "contextLens"), mask, qSeqLen,
                          given(attenOut, "attenOut"), lse, size, executor);
  };
  return set_up_named("AtbMLA", "AtbMLAGetWorkspaceSize", workspaceSize, operation, prepare,
                      __builtin_return_address(0));
}

ATB_NAMED_CALL(AtbMLA)

// The mask stands for positions, so its contents are not read.
OPWRIGHT_API atb::Status AtbRingMLAGetWorkspaceSize(const aclTensor* querySplit1, const aclTensor* querySplit2,
                                                    const aclTensor* keySplit1, const aclTensor* keySplit2,
                                                    const aclTensor* value, const aclTensor*, const aclTensor* seqLen,
                                                    const aclTensor* prevOut, const aclTensor* prevLse, int32_t headNum,
                                                    int32_t kvHeadNum, float qkScale, int kernelType, int maskType,
                                                    int inputLayout, int calcType, aclTensor* output,
                                                    aclTensor* softmaxLse, uint64_t* workspaceSize,
                                                    atb::Operation** operation, atb::Context*) {
  const auto prepare = [&](uint64_t* size, aclOpExecutor** executor) {
    return prepare_ring(
        {headNum, kvHeadNum, qkScale, kernelType, maskType, inputLayout, calcType},
        {given(querySplit1, "querySplit1"), given(querySplit2, "querySplit2"), given(keySplit1, "keySplit1"),
         given(keySplit2, "keySplit2"), given(value, "value"), given(seqLen, "seqLen"), prevOut, prevLse,
         given(output, "output"), given(softmaxLse, "softmaxLse")},
        size, executor);
  };
  return set_up_named("AtbRingMLA", "AtbRingMLAGetWorkspaceSize", workspaceSize, operation, prepare,
                      __builtin_return_address(0));
}

ATB_NAMED_CALL(AtbRingMLA)

}  // extern "C"
