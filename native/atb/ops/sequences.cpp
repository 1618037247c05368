// native/atb/ops/sequences.cpp
#include "atb/ops/sequences.h"

namespace opwright::atb_library {

std::vector<Sequence> sequences_of(at::IntArrayRef query_lengths, at::IntArrayRef key_lengths, int64_t tokens) {
  require(query_lengths.size() == key_lengths.size(), ACLNN_ERR_PARAM_INVALID, "there are ", query_lengths.size(),
          " lengths of queries and ", key_lengths.size(), " of keys; there must be as many");
  std::vector<Sequence> sequences;
  int64_t start = 0;
  for (size_t i = 0; i < query_lengths.size(); ++i) {
    require(query_lengths[i] >= 0 && key_lengths[i] >= 0, ACLNN_ERR_PARAM_INVALID, "sequence ", i, " has ",
            query_lengths[i], " queries and ", key_lengths[i], " keys; neither may be below 0");
    sequences.push_back({static_cast<int64_t>(i), start, query_lengths[i], key_lengths[i]});
    start += query_lengths[i];
  }
  require(start == tokens, ACLNN_ERR_PARAM_INVALID, "the lengths of the sequences are ", query_lengths, ", together ",
          start, ", but the query has ", tokens, " tokens");
  return sequences;
}

std::vector<Sequence> single_queries(at::IntArrayRef key_lengths, int64_t tokens) {
  return sequences_of(std::vector<int64_t>(key_lengths.size(), 1), key_lengths, tokens);
}

// Conversion and transposition in one pass: products of heads that lie apart copy them.
at::Tensor by_head(const at::Tensor& tokens) {
  return tokens.transpose(0, 1).unsqueeze(0).to(at::kFloat, /*non_blocking=*/false, /*copy=*/false,
                                                at::MemoryFormat::Contiguous);
}

at::Tensor with_heads(const at::Tensor& tokens, int64_t heads) {
  if (tokens.dim() == 3) return tokens;
  return tokens.view({tokens.size(0), heads, divided(tokens.size(1), heads, "the values of a token")});
}

at::Tensor tokens_of(const at::Tensor& cache, const at::Tensor& block_tables, const Sequence& sequence,
                     const char* name) {
  const int64_t size = cache.size(1);
  const int64_t count = (sequence.keys + size - 1) / size;
  require(count <= block_tables.size(1), ACLNN_ERR_PARAM_INVALID, "sequence ", sequence.index, " has ", sequence.keys,
          " keys in ", count, " blocks of ", size, ", but parameter 'blockTables' has ", block_tables.size(1),
          " for each");
  const at::Tensor blocks = block_tables.select(0, sequence.index).narrow(0, 0, count);
  if (count > 0) {
    const auto [lowest, highest] = blocks.aminmax();
    require(lowest.item<int64_t>() >= 0 && highest.item<int64_t>() < cache.size(0), ACLNN_ERR_PARAM_INVALID,
            "parameter 'blockTables' names blocks from ", lowest.item<int64_t>(), " to ", highest.item<int64_t>(),
            " for sequence ", sequence.index, ", but '", name, "' has ", cache.size(0));
  }
  return cache.index_select(0, blocks).flatten(0, 1).narrow(0, 0, sequence.keys);
}

at::Tensor keys_after(const Sequence& sequence, int64_t offset) {
  return at::arange(sequence.keys).gt(at::arange(sequence.queries).add_(offset).unsqueeze(1));
}

at::Tensor added_mask(const at::Tensor& mask, const Sequence& sequence, bool by_heads, int64_t heads) {
  const int64_t rank = mask.dim();
  require(mask.size(-2) >= sequence.queries && mask.size(-1) >= sequence.keys, ACLNN_ERR_PARAM_INVALID,
          "parameter 'mask' has shape ", mask.sizes(), ", but sequence ", sequence.index, " has ", sequence.queries,
          " queries and ", sequence.keys, " keys");
  at::Tensor part = mask.narrow(-2, 0, sequence.queries).narrow(-1, 0, sequence.keys);
  const auto of_sequence = [&](const at::Tensor& tensor) {
    const int64_t count = tensor.size(0);
    require(count == 1 || sequence.index < count, ACLNN_ERR_PARAM_INVALID, "parameter 'mask' has shape ", mask.sizes(),
            "; its first dimension must be 1 or as large as there are sequences");
    return tensor.narrow(0, count == 1 ? 0 : sequence.index, 1);
  };
  if (rank == 2) part = part.unsqueeze(0).unsqueeze(0);
  if (rank == 3) part = by_heads ? part.unsqueeze(0) : of_sequence(part).unsqueeze(0);
  if (rank == 4) part = of_sequence(part);
  require(part.size(1) == 1 || part.size(1) == heads, ACLNN_ERR_PARAM_INVALID, "parameter 'mask' has shape ",
          mask.sizes(), "; for ", heads, " heads it must have as many, or 1");
  return to_float(part);
}

void write_rows(at::Tensor& out, const Sequence& sequence, const at::Tensor& result) {
  out.narrow(0, sequence.start, sequence.queries).copy_(result.squeeze(0).transpose(0, 1));
}

}  // namespace opwright::atb_library
