// native/sparse_attention/tokens.cpp
#include "sparse_attention/tokens.h"

#include "aclnn/acl_meta.h"
#include "runtime/error.h"

namespace opwright::sparse {

namespace {

constexpr int64_t kPageStep = 16;
constexpr int64_t kMostPage = 1024;

std::vector<int64_t> values_of(const at::Tensor& lengths, const char* name) {
  require(lengths.dim() == 1 && lengths.scalar_type() == at::kInt, ACLNN_ERR_PARAM_INVALID, "parameter '", name,
          "' is ", lengths.scalar_type(), lengths.sizes(), "; it must be int32 [sequences]");
  const at::Tensor contiguous = lengths.contiguous();
  const auto* values = contiguous.const_data_ptr<int32_t>();
  return {values, values + contiguous.numel()};
}

constexpr const char* kQueryLengths = "actual_seq_lengths_query";

struct Span {
  int64_t first, count;
};

std::vector<Span> packed(const OptionalTensor& lengths, int64_t tokens, const char* name) {
  std::vector<Span> spans;
  int64_t start = 0;
  for (const int64_t end : values_of(*lengths, name)) {
    require(start <= end && end <= tokens, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has ", end, " after ",
            start, "; in layout TND it has the ends of the sequences, which never decrease and are at most ", tokens);
    spans.push_back({start, end - start});
    start = end;
  }
  require(start == tokens, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' ends with ", start,
          "; in layout TND its last entry must be the number of tokens, ", tokens);
  return spans;
}

std::vector<Span> padded(const OptionalTensor& lengths, int64_t sequences, int64_t limit, const char* name) {
  if (!lengths) return std::vector<Span>(sequences, {0, limit});
  std::vector<Span> spans;
  for (const int64_t length : values_of(*lengths, name)) {
    require(0 <= length && length <= limit, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has ", length,
            "; lengths must be between 0 and ", limit);
    spans.push_back({0, length});
  }
  return spans;
}

void require_count(const std::vector<Span>& spans, size_t sequences, const char* name) {
  require(spans.size() == sequences, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has ", spans.size(),
          " entries for ", sequences, " sequences");
}

std::vector<Span> query_spans(const SequenceOperands& operands, Layout layout) {
  const at::Tensor& query = operands.query;
  if (layout == Layout::kTnd) return packed(operands.query_lengths, query.size(0), kQueryLengths);
  std::vector<Span> spans = padded(operands.query_lengths, query.size(0), query.size(1), kQueryLengths);
  require_count(spans, query.size(0), kQueryLengths);
  for (size_t i = 0; i < spans.size(); ++i) spans[i].first = static_cast<int64_t>(i) * query.size(1);
  return spans;
}

void require_block_table(const at::Tensor& table, int64_t sequences) {
  require(table.dim() == 2 && table.scalar_type() == at::kInt && table.size(0) == sequences, ACLNN_ERR_PARAM_INVALID,
          "parameter 'block_table' is ", table.scalar_type(), table.sizes(), "; it must be int32 [", sequences,
          ", pages of a sequence]");
}

// The block table, checked for what the sequences use of it.
at::Tensor read_block_table(const SequenceOperands& operands, const std::vector<Span>& keys) {
  const at::Tensor& table = *operands.block_table;
  const auto sequences = static_cast<int64_t>(keys.size());
  const int64_t page_size = operands.key.size(1);
  require_page_size(page_size, "key");
  require(operands.key.size(0) > 0, ACLNN_ERR_PARAM_INVALID, "parameter 'key' has shape ", operands.key.sizes(),
          "; it must have pages");
  at::Tensor result = table.contiguous();
  for (int64_t i = 0; i < sequences; ++i) {
    const int64_t count = (keys[i].count + page_size - 1) / page_size;
    require(count <= result.size(1), ACLNN_ERR_PARAM_INVALID, "parameter 'block_table' has ", result.size(1),
            " pages for each sequence; sequence ", i, " has ", keys[i].count, " keys, which need ", count);
    const int32_t* pages = result.const_data_ptr<int32_t>() + i * result.size(1);
    for (int64_t page = 0; page < count; ++page) {
      require(0 <= pages[page] && pages[page] < operands.key.size(0), ACLNN_ERR_PARAM_INVALID,
              "parameter 'block_table' names page ", pages[page], " at [", i, ", ", page,
              "]; pages must be between 0 and ", operands.key.size(0) - 1);
    }
  }
  return result;
}

// Lengths say nothing of how many sequences the tensor has.
void require_sequences(const at::Tensor& key, size_t sequences) {
  require(key.size(0) == static_cast<int64_t>(sequences), ACLNN_ERR_PARAM_INVALID, "parameter 'key' has ", key.size(0),
          " sequences; in layout BSND it must have those of parameter 'query', ", sequences);
}

std::vector<Span> key_spans(const SequenceOperands& operands, Layout layout, size_t sequences) {
  const at::Tensor& key = operands.key;
  const char* const name = operands.key_lengths_name;
  const bool paged = layout == Layout::kPaged;
  if (paged) require_block_table(*operands.block_table, static_cast<int64_t>(sequences));
  if (layout == Layout::kBsnd) require_sequences(key, sequences);
  const int64_t limit = paged ? operands.block_table->size(1) * key.size(1) : key.size(1);
  std::vector<Span> spans = layout == Layout::kTnd ? packed(operands.key_lengths, key.size(0), name)
                                                   : padded(operands.key_lengths, key.size(0), limit, name);
  require_count(spans, sequences, name);
  return spans;
}

void require_rank(const at::Tensor& tensor, Layout layout, const char* name) {
  const int64_t rank = layout == Layout::kTnd ? 3 : 4;
  require(tensor.dim() == rank, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ", tensor.sym_sizes(),
          "; its layout has ", rank, " dimensions");
}

void require_ends(const OptionalTensor& lengths, const char* name) {
  require(lengths.has_value(), ACLNN_ERR_PARAM_INVALID, "parameter '", name,
          "' is absent; in layout TND it is needed: the end of each sequence");
}

void require_pages(const SequenceOperands& operands, bool paged) {
  require(paged == operands.block_table.has_value(), ACLNN_ERR_PARAM_INVALID, "parameter 'block_table' is ",
          paged ? "absent" : "given", "; it goes with parameter '", operands.key_layout_name, "' PA_BSND, and only so");
  require(!paged || operands.key_lengths, ACLNN_ERR_PARAM_INVALID, "parameter '", operands.key_lengths_name,
          "' is absent; in layout PA_BSND it is needed: the length of each sequence");
}

// Throws 161002 with the allowed names, for the parameter `name`.
Layout layout_named(const std::string& text, const char* name, bool may_be_paged) {
  if (text == "BSND") return Layout::kBsnd;
  if (text == "TND") return Layout::kTnd;
  if (text == "PA_BSND" && may_be_paged) return Layout::kPaged;
  fail(ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' is '", text, "'; it must be BSND",
       may_be_paged ? ", TND or PA_BSND" : " or TND");
}

}  // namespace

void require_sparse_mode(int64_t sparse_mode) {
  require(sparse_mode == 0 || sparse_mode == 3, ACLNN_ERR_PARAM_INVALID, "parameter 'sparse_mode' is ", sparse_mode,
          "; it must be 0 (all keys) or 3 (causal, aligned to the end)");
}

void require_page_size(int64_t tokens, const char* name) {
  require(tokens > 0 && tokens % kPageStep == 0 && tokens <= kMostPage, ACLNN_ERR_PARAM_INVALID, "parameter '", name,
          "' has pages of ", tokens, " tokens; it must be a multiple of ", kPageStep, ", at most ", kMostPage);
}

Layouts read_layouts(const SequenceOperands& operands) {
  const Layout query_layout = layout_named(operands.query_layout, "layout_query", false);
  const Layout key_layout = layout_named(operands.key_layout, operands.key_layout_name, true);
  require(key_layout == Layout::kPaged || key_layout == query_layout, ACLNN_ERR_PARAM_INVALID, "parameter '",
          operands.key_layout_name, "' is '", operands.key_layout, "'; it must be that of layout_query, '",
          operands.query_layout, "', or PA_BSND");
  require_rank(operands.query, query_layout, "query");
  require_rank(operands.key, key_layout, "key");
  if (query_layout == Layout::kTnd) require_ends(operands.query_lengths, kQueryLengths);
  if (key_layout == Layout::kTnd) require_ends(operands.key_lengths, operands.key_lengths_name);
  require_pages(operands, key_layout == Layout::kPaged);
  return {query_layout, key_layout};
}

Batch read_batch(const SequenceOperands& operands) {
  const auto [query_layout, key_layout] = read_layouts(operands);
  const std::vector<Span> queries = query_spans(operands, query_layout);
  const std::vector<Span> keys = key_spans(operands, key_layout, queries.size());
  const at::Tensor& query = operands.query;
  const int64_t rows = query_layout == Layout::kTnd ? query.size(0) : query.size(0) * query.size(1);
  Batch batch{query_layout, key_layout, rows, {}, {}};
  if (key_layout == Layout::kPaged) batch.block_table = read_block_table(operands, keys);
  for (size_t i = 0; i < queries.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    const int32_t* pages = nullptr;
    if (batch.block_table.defined()) {
      pages = batch.block_table.const_data_ptr<int32_t>() + index * batch.block_table.size(1);
    }
    batch.sequences.push_back({index, queries[i].first, queries[i].count, keys[i].first, keys[i].count, pages});
  }
  return batch;
}

void select_tokens(c10::ArrayRef<int32_t> indices, int64_t seen, int64_t block_size, std::vector<int32_t>& tokens) {
  tokens.clear();
  if (seen <= 0) return;
  const int64_t count = std::min<int64_t>(indices.size(), (seen + block_size - 1) / block_size);
  for (int64_t i = 0; i < count && indices[i] >= 0; ++i) {
    const int64_t first = indices[i] * block_size, end = std::min(first + block_size, seen);
    for (int64_t token = first; token < end; ++token) tokens.push_back(static_cast<int32_t>(token));
  }
}

Rows::Rows(const at::Tensor& tensor, Layout layout, const Sequence& sequence)
    : base_(static_cast<const char*>(tensor.const_data_ptr())), pages_(sequence.pages) {
  const int64_t size = tensor.element_size();
  token_bytes_ = tensor.stride(layout == Layout::kTnd ? 0 : 1) * size;
  if (layout == Layout::kPaged) {
    page_bytes_ = tensor.stride(0) * size;
    page_size_ = tensor.size(1);
  } else if (layout == Layout::kTnd) {
    base_ += sequence.first_key * token_bytes_;
  } else {
    base_ += sequence.index * tensor.stride(0) * size;
  }
}

}  // namespace opwright::sparse
