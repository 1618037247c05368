// native/atb/ops/paged_attention.cpp
// PagedAttention: queries over keys and values in blocks of a cache. Each token is the last one of its sequence, or, in
// calcType SPEC, several are. With mlaVHeadSize the values are the first part of the keys.
#include "atb/ops/sequences.h"
#include "atb/params.h"

using namespace opwright::atb_library;  // NOLINT: as in tables of libopapi

namespace {

using Param = atb::infer::PagedAttentionParam;

// Rows of the mask belong to tokens (SPEC), or to the queries of each sequence.
at::Tensor mask_of(const at::Tensor& mask, int64_t type, Sequence sequence, int64_t heads) {
  if (type != Param::MASK_TYPE_SPEC) return added_mask(mask, sequence, type == Param::MASK_TYPE_ALIBI, heads);
  require(mask.dim() == 2 && mask.size(0) >= sequence.start + sequence.queries, ACLNN_ERR_PARAM_INVALID,
          "parameter 'mask' has shape ", mask.sizes(), "; in maskType SPEC it must have a row for each token");
  return added_mask(mask.narrow(0, sequence.start, sequence.queries), sequence, /*by_heads=*/false, heads);
}

struct Attributes {
  int64_t heads;
  double scale;
  int64_t value_width;  // of values that are part of the keys, or 0
  int64_t mask_type;
};

void attend(const at::Tensor& query, const at::Tensor& key_cache, const OptionalTensor& value_cache,
            const at::Tensor& block_tables, at::IntArrayRef context_lens, const OptionalTensor& mask,
            at::OptionalIntArrayRef query_lens, const Attributes& attributes, at::Tensor& out) {
  const std::vector<Sequence> sequences =
      query_lens ? sequences_of(*query_lens, context_lens, query.size(0)) : single_queries(context_lens, query.size(0));
  for (const Sequence& sequence : sequences) {
    if (sequence.queries == 0) continue;
    const at::Tensor keys = tokens_of(key_cache, block_tables, sequence, "keyCache");
    attention::Problem problem;
    problem.query = by_head(query.narrow(0, sequence.start, sequence.queries));
    problem.key = by_head(keys);
    problem.value = by_head(value_cache ? tokens_of(*value_cache, block_tables, sequence, "valueCache")
                                        : keys.narrow(-1, 0, attributes.value_width));
    problem.scale = attributes.scale;
    problem.scale_position = false;
    if (mask) problem.position = mask_of(*mask, attributes.mask_type, sequence, attributes.heads);
    write_rows(out, sequence, attention::forward(problem).out);
  }
}

}  // namespace

ATB_FUNCTION(PagedAttentionOperation,
             (In, query)(In, keyCache)(OptIn, valueCache)(Index, blockTables)(Ints, contextLens)(OptIn, mask)(
                 OptInts, qSeqLens)(Int, headNum)(Double, qkScale)(Int, mlaVHeadSize)(Int, maskType)(Out, attnOut),
             attend(query, keyCache, valueCache, blockTables, contextLens, mask, qSeqLens,
                    {headNum, qkScale, mlaVHeadSize, maskType}, attnOut))

namespace {

constexpr int64_t kMostHeadSize = 576;
constexpr int64_t kLargeHeadSize = 256, kMostTokensOfLargeHeads = 128;

void check_cache(const aclTensor& cache, const char* name, const aclTensor& query, int64_t key_heads) {
  require_rank(cache, name, {4});
  require_dtype(cache, name, {query.dtype});
  require_size(cache, name, 2, key_heads, "kvHeadNum, or headNum where that is 0");
  const int64_t head_size = cache.sizes[3], block_size = cache.sizes[1];
  require(head_size <= kMostHeadSize, atb::ERROR_INVALID_TENSOR_DIM, "parameter '", name, "' has shape ",
          to_string(cache.sizes), "; a head may have ", kMostHeadSize, " values at most");
  require(block_size > 0 && (head_size <= kLargeHeadSize || block_size <= kMostTokensOfLargeHeads),
          atb::ERROR_INVALID_TENSOR_DIM, "parameter '", name, "' has shape ", to_string(cache.sizes),
          "; a block has at least 1 token, and at most ", kMostTokensOfLargeHeads, " where a head has more than ",
          kLargeHeadSize, " values");
}

struct Operands {
  const aclTensor &query, &key_cache;
  const aclTensor* value_cache;
  const aclTensor& block_tables;
  const aclTensor* mask;
  const aclTensor& out;
};

void check(const Param& param, const Operands& operands, size_t sequences) {
  const aclTensor& query = operands.query;
  require_rank(query, "query", {3});
  require_dtype(query, "query", {ACL_FLOAT16, ACL_BF16});
  require_size(query, "query", 1, param.headNum, "headNum");
  const int64_t key_heads = param.kvHeadNum > 0 ? param.kvHeadNum : param.headNum;
  check_cache(operands.key_cache, "keyCache", query, key_heads);
  require_size(operands.key_cache, "keyCache", 3, query.sizes[2], "as large as the query's heads");
  int64_t width = param.mlaVHeadSize;
  if (operands.value_cache != nullptr) {
    check_cache(*operands.value_cache, "valueCache", query, key_heads);
    for (const size_t dim : {0, 1}) {
      require_size(*operands.value_cache, "valueCache", dim, operands.key_cache.sizes[dim], "as keyCache");
    }
    width = operands.value_cache->sizes[3];
  }
  require(width <= operands.key_cache.sizes[3] || operands.value_cache != nullptr, atb::ERROR_INVALID_TENSOR_DIM,
          "parameter 'mlaVHeadSize' is ", width, "; a head of keyCache has only ", operands.key_cache.sizes[3]);
  require_rank(operands.block_tables, "blockTables", {2});
  require_dtype(operands.block_tables, "blockTables", {ACL_INT32});
  require(operands.block_tables.sizes[0] >= static_cast<int64_t>(sequences), atb::ERROR_INVALID_TENSOR_DIM,
          "parameter 'blockTables' has shape ", to_string(operands.block_tables.sizes),
          "; it must have a row for each of the ", sequences, " sequences of contextLens");
  if (operands.mask != nullptr) {
    require_rank(*operands.mask, "mask", {2, 3, 4});
    require_dtype(*operands.mask, "mask", {query.dtype});
  }
  const int64_t sizes[] = {query.sizes[0], query.sizes[1], width};
  require_sizes(operands.out, "attnOut", {sizes, 3}, "the query's tokens and heads of the value's size");
  require_dtype(operands.out, "attnOut", {query.dtype});
}

aclnnStatus prepare(const Param& param, const Form& form, const atb::VariantPack& variants, uint64_t* workspace_size,
                    aclOpExecutor** executor) {
  Pack pack(variants, form.inputs, form.outputs);
  size_t next = 0;
  const aclTensor& query = pack.in(next++, "query");
  const aclTensor& key_cache = pack.in(next++, "keyCache");
  const aclTensor* const value_cache = param.mlaVHeadSize > 0 ? nullptr : &pack.in(next++, "valueCache");
  const aclTensor& block_tables = pack.in(next++, "blockTables");
  const aclIntArray& context_lens = pack.lengths(next++, "contextLens");
  const aclTensor* const mask = param.maskType == Param::UNDEFINED ? nullptr : &pack.in(next++, "mask");
  const aclIntArray* const query_lens =
      param.calcType == Param::CALC_TYPE_SPEC ? &pack.lengths(next++, "qSeqLen") : nullptr;
  aclTensor& out = pack.out(0, "attnOut");
  check(param, {query, key_cache, value_cache, block_tables, mask, out}, context_lens.values.size());
  return operations::PagedAttentionOperation::prepare(
      &query, &key_cache, value_cache, &block_tables, &context_lens, mask, query_lens, param.headNum, param.qkScale,
      param.mlaVHeadSize, param.maskType, &out, workspace_size, executor);
}

void check(const Param& param) {
  check_attention(param);
  require_param(!param.hasQuantOffset, "hasQuantOffset", param.hasQuantOffset, "false");
  require_param(param.compressType == 0, "compressType", param.compressType,
                "0 (COMPRESS_TYPE_UNDEFINED): compressed caches are not available on the twin");
  require_param(
      param.maskType >= Param::UNDEFINED && param.maskType <= Param::MASK_TYPE_SPEC, "maskType",
      static_cast<int>(param.maskType),
      "0 (UNDEFINED), 1 (NORM), 2 (ALIBI), 3 (SPEC); 4 and 5 are forms of Atlas 300I Duo, which the twin lacks");
  const bool is_spec = param.calcType == Param::CALC_TYPE_SPEC;
  require_param(is_spec || param.calcType == Param::CALC_TYPE_UNDEFINED, "calcType", static_cast<int>(param.calcType),
                "0 (UNDEFINED), 1 (SPEC)");
  require_param(!is_spec || param.maskType != Param::MASK_TYPE_ALIBI, "maskType", static_cast<int>(param.maskType),
                "with calcType SPEC: 0 (UNDEFINED), 1 (NORM), 3 (SPEC)");
  require_param(param.mlaVHeadSize <= kMostHeadSize, "mlaVHeadSize", param.mlaVHeadSize, "0 to 576");
  require_param(param.mlaVHeadSize == 0 || param.kvHeadNum == 1, "kvHeadNum", param.kvHeadNum,
                "1 where mlaVHeadSize is not 0");
  require_param(param.mlaVHeadSize == 0 || param.maskType != Param::MASK_TYPE_ALIBI, "maskType",
                static_cast<int>(param.maskType), "with mlaVHeadSize: 0 (UNDEFINED), 1 (NORM), 3 (SPEC)");
}

Form form_of(const Param& param) {
  check(param);
  Form form{"PagedAttentionOperation", 5, 1, nullptr, nullptr};
  if (param.mlaVHeadSize > 0) --form.inputs;
  if (param.maskType != Param::UNDEFINED) ++form.inputs;
  if (param.calcType == Param::CALC_TYPE_SPEC) ++form.inputs;
  form.infer = [param](const auto& inputs, auto& outputs) {
    atb::TensorDesc& out = outputs.data()[0];
    out = inputs[0];
    out.shape.dims[2] = param.mlaVHeadSize > 0 ? param.mlaVHeadSize : inputs[2].shape.dims[3];
  };
  form.prepare = [param, counts = form](const atb::VariantPack& variants, uint64_t* size, aclOpExecutor** executor) {
    return prepare(param, counts, variants, size, executor);
  };
  return form;
}

}  // namespace

ATB_OPERATION(PagedAttentionParam, form_of)
