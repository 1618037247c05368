// native/atb/ops/self_attention.cpp
// SelfAttention of packed sequences: PA_ENCODER, whose keys are tensors of tokens, and PREFIX_ENCODER, whose keys lie
// in blocks of a cache and whose queries are the last tokens of their sequences.
//
// Compressed masks (NORM_COMPRESS, ALIBI_COMPRESS) are matrices of a fixed size that stand for positions, so their
// contents are not read: a query sees the keys up to its own position.
#include "atb/ops/self_attention.h"

#include "atb/ops/sequences.h"

using namespace opwright::atb_library;  // NOLINT: as in tables of libopapi

namespace {

using Param = atb::infer::SelfAttentionParam;

struct Attributes {
  int64_t heads, key_heads;
  double scale;
  int64_t mask_type;
};

// The device multiplies such a mask with this number, so that 1 hides a key, in bfloat16; it adds one in float16 as it
// is (unpad_flashattention_bf16_mix.cce of ATB).
constexpr double kHidesInBfloat16 = -3e38;

// The term of each head for the distances between a query and the keys before it.
at::Tensor slope_term(const at::Tensor& slopes, const Sequence& sequence, int64_t offset, bool is_root) {
  const at::Tensor queries = at::arange(sequence.queries, at::kFloat).add_(static_cast<double>(offset)).unsqueeze(1);
  at::Tensor distance = queries.sub(at::arange(sequence.keys, at::kFloat)).clamp_min_(0);
  if (is_root) distance = distance.sqrt_();
  return at::mul(to_float(slopes).view({1, -1, 1, 1}), distance);
}

void hide(attention::Problem& problem, const Attributes& attributes, const OptionalTensor& mask,
          const OptionalTensor& slopes, const Sequence& sequence, int64_t offset) {
  switch (attributes.mask_type) {
    case Param::MASK_TYPE_UNDEFINED:
      return;
    case Param::MASK_TYPE_NORM:
      problem.position = added_mask(*mask, sequence, /*by_heads=*/false, attributes.heads);
      if (mask->scalar_type() == at::kBFloat16) problem.position.mul_(kHidesInBfloat16);
      return;
    case Param::MASK_TYPE_ALIBI:
      problem.position = added_mask(*mask, sequence, /*by_heads=*/true, attributes.heads);
      return;
    case Param::MASK_TYPE_ALIBI_COMPRESS:
    case Param::MASK_TYPE_ALIBI_COMPRESS_SQRT:
      problem.position =
          slope_term(*slopes, sequence, offset, attributes.mask_type == Param::MASK_TYPE_ALIBI_COMPRESS_SQRT);
      break;
    default:
      break;
  }
  problem.hidden = keys_after(sequence, offset);
}

struct Tensors {
  const at::Tensor &query, &key, &value;
  const OptionalTensor &block_tables, &mask, &slopes;
};

// Tokens of one sequence, [tokens, N, D].
at::Tensor keys_of(const at::Tensor& tensor, const OptionalTensor& block_tables, const Sequence& sequence,
                   int64_t first_key, int64_t heads, const char* name) {
  if (!block_tables) return with_heads(tensor, heads).narrow(0, first_key, sequence.keys);
  const bool are_joined = tensor.dim() == 3;
  const at::Tensor cache =
      are_joined ? tensor.unflatten(2, {heads, divided(tensor.size(2), heads, "the values of a token")}) : tensor;
  return tokens_of(cache, *block_tables, sequence, name);
}

void attend(const Tensors& tensors, at::IntArrayRef query_lengths, at::OptionalIntArrayRef key_lengths,
            const Attributes& attributes, at::Tensor& out) {
  const at::Tensor query = with_heads(tensors.query, attributes.heads);
  at::Tensor result = with_heads(out, attributes.heads);
  const std::vector<Sequence> sequences =
      sequences_of(query_lengths, key_lengths ? *key_lengths : query_lengths, query.size(0));
  int64_t first_key = 0;
  for (const Sequence& sequence : sequences) {
    const bool is_in_blocks = tensors.block_tables.has_value();
    require(is_in_blocks || first_key + sequence.keys <= tensors.key.size(0), ACLNN_ERR_PARAM_INVALID,
            "the lengths of the sequences need more than the ", tensors.key.size(0), " tokens of 'key'");
    require(!is_in_blocks || sequence.keys >= sequence.queries, ACLNN_ERR_PARAM_INVALID, "sequence ", sequence.index,
            " has ", sequence.queries, " queries and ", sequence.keys, " keys; the queries are its last tokens");
    attention::Problem problem;
    problem.key = by_head(keys_of(tensors.key, tensors.block_tables, sequence, first_key, attributes.key_heads, "key"));
    problem.value =
        by_head(keys_of(tensors.value, tensors.block_tables, sequence, first_key, attributes.key_heads, "value"));
    first_key += sequence.keys;
    if (sequence.queries == 0) continue;
    problem.query = by_head(query.narrow(0, sequence.start, sequence.queries));
    problem.scale = attributes.scale;
    problem.scale_position = false;
    hide(problem, attributes, tensors.mask, tensors.slopes, sequence,
         is_in_blocks ? sequence.keys - sequence.queries : 0);
    write_rows(result, sequence, attention::forward(problem).out);
  }
}

}  // namespace

ATB_FUNCTION(SelfAttentionOperation,
             (In, query)(In, key)(In, value)(OptIndex, blockTables)(OptIn, mask)(OptIn, slopes)(Ints, seqLen)(
                 OptInts, kvSeqLen)(Int, headNum)(Int, kvHeadNum)(Double, qkScale)(Int, maskType)(Out, attnOut),
             attend({query, key, value, blockTables, mask, slopes}, seqLen, kvSeqLen,
                    {headNum, kvHeadNum, qkScale, maskType}, attnOut))

namespace opwright::atb_library::self_attention {

namespace {

constexpr int64_t kMostPrefixHeadSize = 128, kHeadSizeUnit = 16;
constexpr int64_t kCompressedMask = 128, kCompressedSlopes = 256;

int64_t key_heads(const Param& param) { return param.kvHeadNum > 0 ? param.kvHeadNum : param.headNum; }

// The size of a head, of tensors whose last dimension is the head or all heads.
int64_t head_size(const aclTensor& tensor, const char* name, size_t joined_rank, int64_t heads) {
  const size_t rank = tensor.sizes.size();
  if (rank == joined_rank) {
    const int64_t width = tensor.sizes[rank - 1];
    require(width % heads == 0, atb::ERROR_INVALID_TENSOR_DIM, "parameter '", name, "' has shape ",
            to_string(tensor.sizes), "; its last dimension must be a multiple of the ", heads, " heads");
    return width / heads;
  }
  require_size(tensor, name, rank - 2, heads, "the number of heads");
  return tensor.sizes[rank - 1];
}

void check_mask(const Param& param, const aclTensor& mask, const aclTensor& query) {
  require_dtype(mask, "mask", {ACL_FLOAT16, ACL_BF16, ACL_FLOAT});
  if (has_slopes(param)) {
    require_rank(mask, "mask", {2});
    const int64_t sizes[] = {kCompressedSlopes, kCompressedSlopes};
    return require_sizes(mask, "mask", {sizes, 2},
                         "in a compressed alibi mask; masks [headNum, seqLen, 128] are not available on the twin");
  }
  if (param.maskType == Param::MASK_TYPE_NORM_COMPRESS) {
    require_rank(mask, "mask", {2});
    const int64_t sizes[] = {kCompressedMask, kCompressedMask};
    return require_sizes(mask, "mask", {sizes, 2}, "in maskType NORM_COMPRESS");
  }
  require_rank(mask, "mask", {2, 3, 4});
  require_dtype(mask, "mask", {query.dtype});
}

// Answers the size of a value's head.
int64_t check_keys(const Param& param, const Operands& operands) {
  const bool is_cache = operands.block_tables != nullptr;
  const size_t joined = is_cache ? 3 : 2;
  const aclTensor &query = operands.query, &key = operands.key, &value = operands.value;
  require_rank(query, "query", {2, 3});
  require_dtype(query, "query", {ACL_FLOAT16, ACL_BF16});
  const int64_t width = head_size(query, "query", 2, param.headNum);
  for (const auto& [tensor, name] : {std::pair{&key, "key"}, std::pair{&value, "value"}}) {
    require_rank(*tensor, name, {joined, joined + 1});
    require_dtype(*tensor, name, {query.dtype});
  }
  require(key.sizes.size() == value.sizes.size(), atb::ERROR_INVALID_TENSOR_DIM_NUM,
          "parameters 'key' and 'value' have shapes ", to_string(key.sizes), " and ", to_string(value.sizes),
          "; they must have as many dimensions");
  for (size_t i = 0; i + 1 < key.sizes.size(); ++i) require_size(value, "value", i, key.sizes[i], "as 'key'");
  const int64_t key_width = head_size(key, "key", joined, key_heads(param));
  require(key_width == width, atb::ERROR_INVALID_TENSOR_DIM, "a head of 'key' has ", key_width,
          " values; it must have as many as one of 'query', ", width);
  if (is_cache) {
    require(width <= kMostPrefixHeadSize && width % kHeadSizeUnit == 0, atb::ERROR_INVALID_TENSOR_DIM, "a head has ",
            width, " values; with blockTables it must have a multiple of ", kHeadSizeUnit, ", at most ",
            kMostPrefixHeadSize);
    require(key.sizes[1] > 0 && key.sizes[1] * width <= kMostPrefixHeadSize * kMostPrefixHeadSize,
            atb::ERROR_INVALID_TENSOR_DIM, "parameter 'key' has blocks of ", key.sizes[1], " tokens; tokens times ",
            width, " values of a head may be ", kMostPrefixHeadSize * kMostPrefixHeadSize, " at most");
  }
  return head_size(value, "value", joined, key_heads(param));
}

void check_lengths(const Operands& operands) {
  const auto sequences = static_cast<int64_t>(operands.query_lengths.values.size());
  if (operands.key_lengths != nullptr) {
    require(operands.key_lengths->values.size() == operands.query_lengths.values.size(), atb::ERROR_INVALID_TENSOR_DIM,
            "there are ", sequences, " lengths of queries and ", operands.key_lengths->values.size(), " of keys");
  }
  if (operands.block_tables == nullptr) return;
  require_rank(*operands.block_tables, "blockTables", {2});
  require_dtype(*operands.block_tables, "blockTables", {ACL_INT32});
  require_size(*operands.block_tables, "blockTables", 0, sequences, "a row for each sequence");
}

}  // namespace

bool has_slopes(const Param& param) noexcept {
  return param.maskType == Param::MASK_TYPE_ALIBI_COMPRESS || param.maskType == Param::MASK_TYPE_ALIBI_COMPRESS_SQRT;
}

bool has_mask(const Param& param) noexcept {
  return param.maskType != Param::MASK_TYPE_UNDEFINED && param.maskType != Param::MASK_TYPE_CAUSAL_MASK;
}

void check(const Param& param) {
  check_attention(param);
  const bool is_prefix = param.calcType == Param::PREFIX_ENCODER;
  require_param(
      is_prefix || param.calcType == Param::PA_ENCODER, "calcType", static_cast<int>(param.calcType),
      "3 (PA_ENCODER), 4 (PREFIX_ENCODER); 0 to 2, which keep the cache themselves, are not available on the twin");
  require_param(param.qScale == 1, "qScale", param.qScale, "1");
  require_param(param.kernelType == Param::KERNELTYPE_DEFAULT || param.kernelType == Param::KERNELTYPE_HIGH_PRECISION,
                "kernelType", static_cast<int>(param.kernelType),
                "0 (DEFAULT), 1 (HIGH_PRECISION); 2 is a form of Atlas 300I Duo, which the twin lacks");
  require_param(param.clampType == 0, "clampType", param.clampType,
                "0 (UNDEFINED): clamping is not available on the twin");
  require_param(param.kvcacheCfg == 0, "kvcacheCfg", param.kvcacheCfg, "0 (K_CACHE_V_CACHE)");
  require_param(param.mlaVHeadSize == 0, "mlaVHeadSize", param.mlaVHeadSize,
                "0: joined keys and values are not available on the twin");
  require_param(param.cacheType == 0 && param.windowSize == 0, "windowSize", param.windowSize,
                "0, with cacheType 0: sliding windows are not available on the twin");
  const int mask = param.maskType;
  const bool is_compressed = mask == Param::MASK_TYPE_NORM_COMPRESS || has_slopes(param);
  if (is_prefix) {
    require_param(is_compressed || mask == Param::MASK_TYPE_CAUSAL_MASK, "maskType", mask,
                  "with calcType PREFIX_ENCODER: 3 (NORM_COMPRESS), 4 (ALIBI_COMPRESS), 5 (ALIBI_COMPRESS_SQRT), "
                  "9 (CAUSAL_MASK)");
    require_param(param.kernelType == Param::KERNELTYPE_HIGH_PRECISION, "kernelType",
                  static_cast<int>(param.kernelType), "with calcType PREFIX_ENCODER: 1 (HIGH_PRECISION)");
    require_param(param.isTriuMask == 1, "isTriuMask", param.isTriuMask, "with calcType PREFIX_ENCODER: 1");
  } else {
    require_param(is_compressed || (mask >= Param::MASK_TYPE_UNDEFINED && mask <= Param::MASK_TYPE_ALIBI), "maskType",
                  mask,
                  "0 (UNDEFINED), 1 (NORM), 2 (ALIBI), 3 (NORM_COMPRESS), 4 (ALIBI_COMPRESS), 5 (ALIBI_COMPRESS_SQRT); "
                  "alibi masks that are aligned left and sliding windows are not available on the twin");
  }
}

aclnnStatus prepare(const Param& param, const Operands& operands, uint64_t* workspace_size, aclOpExecutor** executor) {
  const int64_t value_width = check_keys(param, operands);
  check_lengths(operands);
  if (operands.mask != nullptr) check_mask(param, *operands.mask, operands.query);
  if (operands.slopes != nullptr) {
    require_rank(*operands.slopes, "slopes", {1});
    require_dtype(*operands.slopes, "slopes", {ACL_FLOAT});
    require_size(*operands.slopes, "slopes", 0, param.headNum, "one for each head");
    require(operands.query.dtype != ACL_FLOAT16 || param.kernelType == Param::KERNELTYPE_HIGH_PRECISION,
            atb::ERROR_INVALID_PARAM,
            "parameter 'kernelType' is 0; with a compressed alibi mask and float16 it must be 1 (HIGH_PRECISION)");
  }
  require_dtype(operands.out, "attnOut", {operands.query.dtype});
  require_rank(operands.out, "attnOut", {2, 3});
  require_size(operands.out, "attnOut", 0, operands.query.sizes[0], "the query's tokens");
  const int64_t out_width = head_size(operands.out, "attnOut", 2, param.headNum);
  require(out_width == value_width, atb::ERROR_INVALID_TENSOR_DIM, "output 'attnOut' has shape ",
          to_string(operands.out.sizes), "; its heads must have ", value_width, " values, as those of 'value'");
  return operations::SelfAttentionOperation::prepare(
      &operands.query, &operands.key, &operands.value, operands.block_tables, operands.mask, operands.slopes,
      &operands.query_lengths, operands.key_lengths, param.headNum, key_heads(param), param.qkScale, param.maskType,
      &operands.out, workspace_size, executor);
}

namespace {

// Lengths of queries, or of queries and then of keys, [2, sequences].
struct Lengths {
  aclIntArray queries;
  std::unique_ptr<aclIntArray> keys;
};

Lengths split(const aclIntArray& numbers, bool has_both) {
  if (!has_both) return {numbers, nullptr};
  const auto middle = numbers.values.begin() + static_cast<std::ptrdiff_t>(numbers.values.size() / 2);
  return {{{numbers.values.begin(), middle}},
          std::make_unique<aclIntArray>(aclIntArray{{middle, numbers.values.end()}})};
}

aclnnStatus prepare_pack(const Param& param, const Form& form, const atb::VariantPack& variants,
                         uint64_t* workspace_size, aclOpExecutor** executor) {
  Pack pack(variants, form.inputs, form.outputs);
  const bool is_prefix = param.calcType == Param::PREFIX_ENCODER;
  size_t next = 0;
  const aclTensor &query = pack.in(next++, "query"), &key = pack.in(next++, "key"), &value = pack.in(next++, "value");
  const aclTensor* const block_tables = is_prefix ? &pack.in(next++, "blockTables") : nullptr;
  const aclTensor* const mask = has_mask(param) ? &pack.in(next++, "mask") : nullptr;
  const size_t position = next++;
  const aclIntArray& numbers = is_prefix ? pack.lengths(position, "seqLen") : pack.lengths(position, "seqLen", {1, 2});
  const atb::Dims& shape = variants.inTensors[position].desc.shape;
  require(shape.dimNum == 1 || shape.dims[0] == 2, atb::ERROR_INVALID_TENSOR_DIM, "parameter 'seqLen' has ",
          shape.dims[0], " rows; of two dimensions it must have 2, for queries and keys");
  const Lengths lengths = split(numbers, shape.dimNum == 2);
  const aclIntArray* key_lengths = lengths.keys.get();
  if (is_prefix) key_lengths = &pack.lengths(next++, "kvSeqLen");
  const aclTensor* const slopes = has_slopes(param) ? &pack.in(next++, "slopes") : nullptr;
  return prepare(param,
                 {query, key, value, block_tables, mask, slopes, lengths.queries, key_lengths, pack.out(0, "attnOut")},
                 workspace_size, executor);
}

Form form_of(const Param& param) {
  check(param);
  const bool is_prefix = param.calcType == Param::PREFIX_ENCODER;
  Form form{"SelfAttentionOperation", is_prefix ? 6U : 4U, 1, nullptr, nullptr};
  if (has_mask(param)) ++form.inputs;
  if (has_slopes(param)) ++form.inputs;
  form.infer = [param](const auto& inputs, auto& outputs) {
    atb::TensorDesc& out = outputs.data()[0];
    out = inputs[0];
    const atb::Dims &query = inputs[0].shape, &value = inputs[2].shape;
    const size_t rank = query.dimNum;
    if (value.dimNum == rank && param.calcType == Param::PA_ENCODER) {
      const int64_t width = value.dims[value.dimNum - 1];
      out.shape.dims[rank - 1] = rank == 2 ? width / key_heads(param) * param.headNum : width;
    }
  };
  form.prepare = [param, counts = form](const atb::VariantPack& variants, uint64_t* size, aclOpExecutor** executor) {
    return prepare_pack(param, counts, variants, size, executor);
  };
  return form;
}

}  // namespace

}  // namespace opwright::atb_library::self_attention

ATB_OPERATION(SelfAttentionParam, opwright::atb_library::self_attention::form_of)
