// native/opapi/ops/attention/block_sparse_attention.cpp
// Attention in which a mask says for each block of queries and keys whether it takes part, with its gradient.
#include <limits>

#include "opapi/ops/attention/sequences.h"

namespace {

using namespace opapi::attention;

struct BlockSparseOperands {
  const at::Tensor &query, &key, &value;
  const OptionalTensor &blocks, &mask;
};

struct BlockSparseOptions {
  at::OptionalIntArrayRef block_shape, query_lengths, key_lengths;
  const std::string &query_layout, &key_layout;
  int64_t key_heads;
  int64_t mask_type;
  double scale;
  int64_t pre_tokens, next_tokens;
};

void check(const BlockSparseOperands& operands, const BlockSparseOptions& options) {
  require(options.query_layout == options.key_layout, ACLNN_ERR_PARAM_INVALID, "qInputLayout and kvInputLayout are '",
          options.query_layout, "' and '", options.key_layout, "'; they must be one");
  const std::string& layout = options.query_layout;
  require(layout == "TND" || layout == "BNSD" || layout == "BSND", ACLNN_ERR_PARAM_INVALID,
          "parameter 'qInputLayout' is '", layout, "'; it must be TND, BNSD or BSND");
  require(!operands.mask, ACLNN_ERR_PARAM_INVALID, "parameter 'attenMask' is given; it must be None");
  require(options.mask_type == 0, ACLNN_ERR_PARAM_INVALID, "parameter 'maskType' is ", options.mask_type,
          "; it must be 0");
  constexpr int64_t kAll = std::numeric_limits<int32_t>::max();
  require(options.pre_tokens == kAll && options.next_tokens == kAll, ACLNN_ERR_PARAM_INVALID,
          "preTokens and nextTokens are ", options.pre_tokens, " and ", options.next_tokens, "; they must be ", kAll);
  require(!options.block_shape || options.block_shape->empty() ||
              (options.block_shape->size() >= 2 && (*options.block_shape)[0] > 0 && (*options.block_shape)[1] > 0),
          ACLNN_ERR_PARAM_INVALID, "parameter 'blockShape' has other than two positive values");
  require(options.query_lengths.has_value() == options.key_lengths.has_value(), ACLNN_ERR_PARAM_INVALID,
          "of actualSeqLengths and actualSeqLengthsKv only one is given");
}

// The sequences' lengths, also in layout TND.
std::vector<Span> spans_of(at::OptionalIntArrayRef lengths, const at::Tensor& heads, bool packed, const char* name) {
  if (!packed) return padded_spans(lengths, heads.size(0), heads.size(2), std::nullopt, name);
  require(lengths.has_value(), ACLNN_ERR_PARAM_NULLPTR, "parameter '", name, "' is needed in layout TND");
  std::vector<int64_t> ends;
  for (const int64_t length : *lengths) ends.push_back((ends.empty() ? 0 : ends.back()) + length);
  return packed_spans(at::IntArrayRef(ends), heads.size(2), name);
}

at::Tensor hidden_blocks(const at::Tensor& blocks, const BlockSparseOptions& options, int64_t sequence, int64_t queries,
                         int64_t keys) {
  const bool given = options.block_shape && !options.block_shape->empty();
  const int64_t height = given ? (*options.block_shape)[0] : 128, width = given ? (*options.block_shape)[1] : 128;
  require(blocks.dim() == 4 && sequence < blocks.size(0) && blocks.size(2) * height >= queries &&
              blocks.size(3) * width >= keys,
          ACLNN_ERR_PARAM_INVALID, "parameter 'blockSparseMask' has shape ", blocks.sizes(), "; sequence ", sequence,
          " has ", queries, " queries and ", keys, " keys in blocks of ", height, " and ", width);
  const at::Tensor rows = at::arange(queries).floor_divide_(height), columns = at::arange(keys).floor_divide_(width);
  return blocks.narrow(0, sequence, 1).eq(0).index_select(2, rows).index_select(3, columns);
}

// Calls compute(problem, queries, keys) for each sequence that has queries.
template <class Compute>
void for_each_sequence(const BlockSparseOperands& operands, const BlockSparseOptions& options, const Compute& compute) {
  check(operands, options);
  const std::string& layout = options.query_layout;
  const bool packed = layout == "TND";
  const int64_t heads = operands.query.dim() < 3 ? 0 : operands.query.size(layout == "BSND" ? 2 : 1);
  const at::Tensor query = by_head(operands.query, layout, heads, "query");
  const at::Tensor key = by_head(operands.key, layout, options.key_heads, "key");
  const at::Tensor value = by_head(operands.value, layout, options.key_heads, "value");
  const std::vector<Span> queries = spans_of(options.query_lengths, query, packed, "actualSeqLengths");
  const std::vector<Span> keys = spans_of(options.key_lengths, key, packed, "actualSeqLengthsKv");
  require(queries.size() == keys.size(), ACLNN_ERR_PARAM_INVALID, "there are ", queries.size(),
          " sequences of queries and ", keys.size(), " of keys");
  for (size_t i = 0; i < queries.size(); ++i) {
    if (queries[i].length == 0) continue;
    Problem problem;
    problem.query = widened(rows(query, queries[i]));
    problem.key = widened(rows(key, keys[i]));
    problem.value = widened(rows(value, keys[i]));
    problem.scale = options.scale;
    if (operands.blocks) {
      problem.hidden =
          hidden_blocks(*operands.blocks, options, static_cast<int64_t>(i), queries[i].length, keys[i].length);
    }
    compute(problem, queries[i], keys[i]);
  }
}

void attend(const BlockSparseOperands& operands, const BlockSparseOptions& options, const OptionalTensor& table,
            int64_t page_size, int64_t lse_flag, at::Tensor& out, at::Tensor& lse) {
  constexpr float kNoResult = std::numeric_limits<float>::infinity();
  require(!table && page_size == 0, ACLNN_ERR_PARAM_INVALID,
          "blockTable or blockSize is given; caches in pages are not available");
  require(lse_flag == 0 || lse_flag == 1, ACLNN_ERR_PARAM_INVALID, "parameter 'softmaxLseFlag' is ", lse_flag,
          "; it must be 0 or 1");
  require(lse_flag == 0 || lse.defined(), ACLNN_ERR_PARAM_NULLPTR, "parameter 'softmaxLse' is null");
  const std::string& layout = options.query_layout;
  const auto heads_of = [&](const at::Tensor& tensor, const char* name) {
    return by_head(tensor, layout, tensor.size(layout == "BSND" ? 2 : 1), name);
  };
  out.zero_();
  if (lse.defined()) lse.fill_(lse_flag == 1 ? kNoResult : 0);
  for_each_sequence(operands, options, [&](const Problem& problem, const Span& queries, const Span&) {
    const Result result = forward(problem);
    rows(heads_of(out, "attentionOut"), queries).copy_(result.out);
    if (lse_flag == 0) return;
    const at::Tensor logarithm = result.sum.log().add_(result.highest).masked_fill_(result.blind, kNoResult);
    rows(heads_of(lse, "softmaxLse"), queries).copy_(logarithm);
  });
}

void attend_backward(const BlockSparseOperands& operands, const BlockSparseOptions& options, const at::Tensor& grad,
                     const at::Tensor& lse, at::Tensor& grad_query, at::Tensor& grad_key, at::Tensor& grad_value) {
  const std::string& layout = options.query_layout;
  require(layout != "BSND", ACLNN_ERR_PARAM_INVALID,
          "parameter 'qInputLayout' is 'BSND'; the gradient is available for TND and BNSD");
  const auto heads_of = [&](const at::Tensor& tensor, const char* name) {
    return by_head(tensor, layout, tensor.size(1), name);
  };
  for (at::Tensor* one : {&grad_query, &grad_key, &grad_value}) one->zero_();
  for_each_sequence(operands, options, [&](const Problem& problem, const Span& queries, const Span& keys) {
    const at::Tensor highest = rows(heads_of(lse, "softmaxLse"), queries);
    const at::Tensor by_out = widened(rows(heads_of(grad, "dout"), queries));
    const Gradients gradients = backward(problem, by_out, highest, at::ones({1}));
    rows(heads_of(grad_query, "dq"), queries).copy_(gradients.query);
    rows(heads_of(grad_key, "dk"), keys).copy_(gradients.key);
    rows(heads_of(grad_value, "dv"), keys).copy_(gradients.value);
  });
}

}  // namespace

#define MASKS (OptIn, blockSparseMaskOptional)(OptIn, attenMaskOptional)
#define LENGTHS (OptInts, blockShapeOptional)(OptInts, actualSeqLengthsOptional)(OptInts, actualSeqLengthsKvOptional)
#define LAYOUTS (Text, qInputLayout)(Text, kvInputLayout)(Int, numKeyValueHeads)(Int, maskType)(Double, scaleValue)
#define OPERANDS {query, key, value, blockSparseMaskOptional, attenMaskOptional}
#define OPTIONS                \
  {blockShapeOptional,         \
   actualSeqLengthsOptional,   \
   actualSeqLengthsKvOptional, \
   qInputLayout,               \
   kvInputLayout,              \
   numKeyValueHeads,           \
   maskType,                   \
   scaleValue,                 \
   preTokens,                  \
   nextTokens}

ACLNN(BlockSparseAttention,
      (In, query)(In, key)(In, value)MASKS LENGTHS(OptIn, blockTableOptional)
          LAYOUTS(Int, innerPrecise)(Int, blockSize)(Int, preTokens)(Int, nextTokens)(Int, softmaxLseFlag)(
              Out, attentionOut)(OptOut, softmaxLseOptional),
      attend(OPERANDS, OPTIONS, blockTableOptional, blockSize, softmaxLseFlag, attentionOut, softmaxLseOptional))
ACLNN(BlockSparseAttentionGrad,
      (In, dout)(In, query)(In, key)(In, value)(In, attentionOut)(In, softmaxLse)
          MASKS LENGTHS LAYOUTS(Int, preTokens)(Int, nextTokens)(Out, dq)(Out, dk)(Out, dv),
      attend_backward(OPERANDS, OPTIONS, dout, softmaxLse, dq, dk, dv))

#undef MASKS
#undef LENGTHS
#undef LAYOUTS
#undef OPERANDS
#undef OPTIONS
