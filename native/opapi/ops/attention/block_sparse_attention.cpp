// native/opapi/ops/attention/block_sparse_attention.cpp
// Attention in which a mask, or a list, says for each block of queries and keys whether it takes part, with its
// gradient; and the choice of such a mask.
#include <algorithm>
#include <limits>

#include "opapi/ops/attention/sequences.h"
#include "opapi/ops/common/refusal.h"

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

int64_t query_dims(const std::string& layout) { return layout == "TND" ? 3 : 4; }

void attend_backward(const BlockSparseOperands& operands, const BlockSparseOptions& options, const at::Tensor& grad,
                     const at::Tensor& lse, at::Tensor& grad_query, at::Tensor& grad_key, at::Tensor& grad_value) {
  const std::string& layout = options.query_layout;
  require(layout != "BSND", ACLNN_ERR_PARAM_INVALID,
          "parameter 'qInputLayout' is 'BSND'; the gradient is available for TND and BNSD");
  const auto heads_of = [&](const at::Tensor& tensor, const char* name) {
    return by_head(tensor, layout, tensor.size(1), name);
  };
  // Also without the last dimension, of size 1.
  const at::Tensor statistics = lse.dim() < query_dims(layout) ? lse.unsqueeze(-1) : lse;
  for (at::Tensor* one : {&grad_query, &grad_key, &grad_value}) one->zero_();
  for_each_sequence(operands, options, [&](const Problem& problem, const Span& queries, const Span& keys) {
    const at::Tensor highest = rows(heads_of(statistics, "softmaxLse"), queries);
    const at::Tensor by_out = widened(rows(heads_of(grad, "dout"), queries));
    const Gradients gradients = backward(problem, by_out, highest, at::ones({1}));
    rows(heads_of(grad_query, "dq"), queries).copy_(gradients.query);
    rows(heads_of(grad_key, "dk"), keys).copy_(gradients.key);
    rows(heads_of(grad_value, "dv"), keys).copy_(gradients.value);
  });
}

// The blocks of keys that are listed for each block of queries, as a mask. Blocks of queries are numbered through all
// sequences.
at::Tensor listed_blocks(const at::Tensor& index, const at::Tensor& counts, const BlockSparseOptions& options) {
  require(options.query_lengths && options.key_lengths && options.block_shape && options.block_shape->size() >= 2 &&
              options.block_shape->at(0) > 0 && options.block_shape->at(1) > 0,
          ACLNN_ERR_PARAM_INVALID, "blockShape, actualSeqLengths and actualSeqLengthsKv are needed");
  const auto blocks_in = [](int64_t length, int64_t block) { return (length + block - 1) / block; };
  const int64_t height = options.block_shape->at(0), width = options.block_shape->at(1);
  std::vector<int64_t> rows, columns;
  for (const int64_t length : *options.query_lengths) rows.push_back(blocks_in(length, height));
  for (const int64_t length : *options.key_lengths) columns.push_back(blocks_in(length, width));
  int64_t all = 0;
  for (const int64_t count : rows) all += count;
  require(index.dim() == 3 && counts.dim() == 2 && index.size(0) == all && counts.size(0) == all &&
              counts.size(1) == index.size(1) && rows.size() == columns.size() && !rows.empty(),
          ACLNN_ERR_PARAM_INVALID, "selectIdx and selectNumIdx have the shapes ", index.sizes(), " and ",
          counts.sizes(), "; they must be [", all, ", heads, blocks] and [", all, ", heads]");
  const auto batches = static_cast<int64_t>(rows.size());
  const at::Tensor numbers = index.to(at::kLong).contiguous(), sizes = counts.to(at::kLong).contiguous();
  const auto number = numbers.accessor<int64_t, 3>();
  const auto size = sizes.accessor<int64_t, 2>();
  at::Tensor result = at::zeros({batches, index.size(1), *std::max_element(rows.begin(), rows.end()),
                                 *std::max_element(columns.begin(), columns.end())},
                                at::kChar);
  auto mask = result.accessor<int8_t, 4>();
  int64_t block = 0;
  for (int64_t batch = 0; batch < batches; ++batch) {
    for (int64_t row = 0; row < rows[static_cast<size_t>(batch)]; ++row, ++block) {
      for (int64_t head = 0; head < index.size(1); ++head) {
        for (int64_t i = 0; i < std::min(size[block][head], index.size(2)); ++i) {
          const int64_t column = number[block][head][i];
          require(column >= 0 && column < columns[static_cast<size_t>(batch)], ACLNN_ERR_PARAM_INVALID,
                  "selectIdx names block ", column, " of the keys; sequence ", batch, " has ",
                  columns[static_cast<size_t>(batch)]);
          mask[batch][head][row][column] = 1;
        }
      }
    }
  }
  return result;
}

// ---- a mask from means of blocks

struct MaskOptions {
  int64_t block;
  at::OptionalIntArrayRef used;  // how many of a block's tokens count
};

// Means of blocks of tokens, [N, blocks, D], of one sequence by head; how many tokens of each count.
struct BlockMeans {
  at::Tensor means, used;
};

BlockMeans means_of(const at::Tensor& tokens, const MaskOptions& options, int64_t first, const char* name) {
  const int64_t length = tokens.size(2), blocks = (length + options.block - 1) / options.block;
  const at::Tensor padded =
      at::constant_pad_nd(tokens.squeeze(0).to(at::kFloat), {0, 0, 0, blocks * options.block - length});
  const at::Tensor values = padded.unflatten(1, {blocks, options.block});
  if (!options.used) return {values.sum(2) / static_cast<double>(options.block), at::ones({blocks}, at::kLong)};
  require(first + blocks <= static_cast<int64_t>(options.used->size()), ACLNN_ERR_PARAM_INVALID, "parameter '", name,
          "' has ", options.used->size(), " entries; there are more blocks");
  const at::Tensor used = at::tensor(options.used->slice(first, blocks), at::kLong);
  const at::Tensor counted = at::arange(options.block).unsqueeze(0) < used.unsqueeze(1);  // [blocks, block]
  const at::Tensor sums = values.mul(counted.unsqueeze(-1)).sum(2);
  return {sums / used.clamp_min(1).unsqueeze(-1), used};
}

// The largest shares of the blocks' softmax, as many of them as `kept` of all.
void select_blocks(const at::Tensor& query, const at::Tensor& key, const BlockSparseOptions& options,
                   const MaskOptions& rows_of_blocks, const MaskOptions& columns_of_blocks, double kept,
                   at::Tensor& out) {
  check({query, key, key, kNone, kNone}, options);
  require(kept > 0 && kept < 1, ACLNN_ERR_PARAM_INVALID, "parameter 'sparsity' is ", kept,
          "; it must be between 0 and 1");
  const std::string& layout = options.query_layout;
  const bool packed = layout == "TND";
  const at::Tensor q = by_head(query, layout, query.size(1), "query");
  const at::Tensor k = by_head(key, layout, options.key_heads, "key");
  require(q.size(1) == k.size(1), ACLNN_ERR_PARAM_INVALID, "there are ", q.size(1), " heads of queries and ", k.size(1),
          " of keys; they must be as many");
  const std::vector<Span> queries = spans_of(options.query_lengths, q, packed, "actualSeqLengths");
  const std::vector<Span> keys = spans_of(options.key_lengths, k, packed, "actualSeqLengthsKV");
  require(queries.size() == keys.size() && out.dim() == 4 && out.size(0) == static_cast<int64_t>(queries.size()) &&
              out.size(1) == q.size(1),
          ACLNN_ERR_PARAM_INVALID, "blockSparseMask has the shape ", out.sizes(), "; it must be [", queries.size(),
          ", ", q.size(1), ", blocks, blocks]");
  out.zero_();
  int64_t first_row = 0, first_column = 0;
  for (size_t i = 0; i < queries.size(); ++i) {
    // Without packing each sequence has the room of the longest one.
    const auto batch = static_cast<int64_t>(i);
    const BlockMeans row =
        means_of(rows(q, queries[i]), rows_of_blocks, packed ? first_row : batch * out.size(2), "actualBlockLenQuery");
    const BlockMeans column =
        means_of(rows(k, keys[i]), columns_of_blocks, packed ? first_column : batch * out.size(3), "actualBlockLenKey");
    const int64_t height = row.means.size(1), width = column.means.size(1);
    first_row += height;
    first_column += width;
    require(height <= out.size(2) && width <= out.size(3), ACLNN_ERR_PARAM_INVALID, "sequence ", i, " has ", height,
            " and ", width, " blocks; blockSparseMask has the shape ", out.sizes());
    const at::Tensor scores = row.means.matmul(column.means.transpose(1, 2)).mul_(options.scale);
    const at::Tensor empty = (row.used == 0).unsqueeze(1).logical_or((column.used == 0).unsqueeze(0));
    const at::Tensor shares = scores.softmax(-1).masked_fill(empty, -1).flatten(1);
    const auto count = static_cast<int64_t>(std::nearbyint(kept * static_cast<double>(height * width)));
    const auto [largest, places] = shares.topk(count, 1);
    const at::Tensor chosen = at::zeros_like(shares).scatter_(1, places, largest.ge(0).to(at::kFloat));
    out.narrow(0, batch, 1).narrow(2, 0, height).narrow(3, 0, width).copy_(chosen.view({1, -1, height, width}));
  }
}

int64_t block_side(at::OptionalIntArrayRef shape, size_t which) {
  return shape && shape->size() > which ? shape->at(which) : 128;
}

constexpr int64_t kNoWindow = std::numeric_limits<int32_t>::max();

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
// Scales are of 8-bit floats.
ACLNN(BlockSparseAttentionV2,
      (In, query)(In, key)(In, value)MASKS LENGTHS(OptIn, blockTableOptional)(OptIn, qDequantScale)(
          OptIn, kDequantScale)(OptIn, vDequantScale)LAYOUTS(Int, innerPrecise)(Int, blockSize)(Int,
                                                                                                preTokens)(
          Int, nextTokens)(Int, softmaxLseFlag)(Out, attentionOut)(OptOut, softmaxLseOptional),
      refuse({{qDequantScale, "qDequantScale"}, {kDequantScale, "kDequantScale"}, {vDequantScale, "vDequantScale"}},
             "it is of Ascend950 alone");
      attend(OPERANDS, OPTIONS, blockTableOptional, blockSize, softmaxLseFlag, attentionOut, softmaxLseOptional))
ACLNN(RainFusionAttention,
      (In, query)(In, key)(In, value)(In, selectIdx)(In, selectNumIdx)(OptInts, blockShape)(OptIn, attenMaskOptional)(
          OptInts, actualSeqLengthsOptional)(OptInts, actualSeqLengthsKvOptional)(OptIn, blockTableOptional)
          LAYOUTS(Int, innerPrecise)(Int, blockSize)(Out, attentionOut)(OptOut, softmaxLseOptional),
      const BlockSparseOptions options{blockShape, actualSeqLengthsOptional, actualSeqLengthsKvOptional, qInputLayout,
                                       kvInputLayout, numKeyValueHeads, maskType, scaleValue, kNoWindow, kNoWindow};
      const OptionalTensor blocks = listed_blocks(selectIdx, selectNumIdx, options);
      // The size of a page says nothing without a block table.
      attend({query, key, value, blocks, attenMaskOptional}, options, blockTableOptional, 0, 0, attentionOut,
             softmaxLseOptional))
ACLNN(BSASelectBlockMask,
      (In, query)(In, key)(OptInts, blockShape)(OptInts, postBlockShape)(OptInts, actualSeqLengths)(
          OptInts, actualSeqLengthsKV)(OptInts, actualBlockLenQuery)(OptInts, actualBlockLenKey)(Text, qInputLayout)(
          Text, kvInputLayout)(Int, numKeyValueHeads)(Double, scaleValue)(Double, sparsity)(Out, blockSparseMaskOut),
      require(!postBlockShape, ACLNN_ERR_PARAM_INVALID, "parameter 'postBlockShape' is given; allowed: null");
      select_blocks(query, key,
                    {blockShape, actualSeqLengths, actualSeqLengthsKV, qInputLayout, kvInputLayout, numKeyValueHeads, 0,
                     scaleValue, kNoWindow, kNoWindow},
                    {block_side(blockShape, 0), actualBlockLenQuery}, {block_side(blockShape, 1), actualBlockLenKey},
                    sparsity, blockSparseMaskOut))
ACLNN(BlockSparseAttentionGrad,
      (In, dout)(In, query)(In, key)(In, value)(In, attentionOut)(In, softmaxLse)
          MASKS LENGTHS LAYOUTS(Int, preTokens)(Int, nextTokens)(Out, dq)(Out, dk)(Out, dv),
      attend_backward(OPERANDS, OPTIONS, dout, softmaxLse, dq, dk, dv))

#undef MASKS
#undef LENGTHS
#undef LAYOUTS
#undef OPERANDS
#undef OPTIONS
