// native/sparse_attention/tokens.h
// Where the tokens of each sequence lie, in the layouts of the sparse attention operators (B sequences, S tokens each
// with padding, T tokens of all sequences, N heads, D their size):
//
//   BSND     [B, S, N, D]; lengths are what counts of each sequence, or absent: all S
//   TND      [T, N, D]; lengths are the end of each sequence, so that their number is B
//   PA_BSND  [pages, page size, N, D], keys only; lengths are those of the sequences, whose pages a row of the block
//            table names in order
//
// Lengths and the block table are int32. Pages, and the sequences of BSND, may lie apart; a page is contiguous.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace opwright::sparse {

using OptionalTensor = std::optional<at::Tensor>;

enum class Layout { kBsnd, kTnd, kPaged };

struct Sequence {
  int64_t index;        // in the batch
  int64_t first_query;  // row of [T, N, D], or of [B * S, N, D]
  int64_t queries;
  int64_t first_key;  // TND: the token of [T, N, D] that its keys begin with; else 0
  int64_t keys;
  const int32_t* pages;  // PA_BSND: the row of the block table; else null

  // How many keys the query `row` of this sequence sees: all, or in mode 3 (causal, aligned to the end) those up to
  // its own; may be negative or 0.
  int64_t visible(int64_t row, int64_t sparse_mode) const { return sparse_mode == 0 ? keys : keys - queries + row + 1; }
};

// Where the tokens of queries and keys lie; names of parameters as users know them, for errors.
struct SequenceOperands {
  const at::Tensor &query, &key;
  const OptionalTensor &query_lengths, &key_lengths, &block_table;
  const std::string &query_layout, &key_layout;
  const char* key_lengths_name = "actual_seq_lengths_key";
  const char* key_layout_name = "layout_key";
};

struct Batch {
  Layout query_layout, key_layout;
  int64_t query_rows;  // of the query as [rows, N, D]
  std::vector<Sequence> sequences;
  at::Tensor block_table;  // keeps what `pages` points to
};

// Throws 161002 unless the mode is 0 (a query sees all keys) or 3 (causal, aligned to the end).
void require_sparse_mode(int64_t sparse_mode);

// Throws 161002 for a number of tokens that a page of the parameter `name` cannot have.
void require_page_size(int64_t tokens, const char* name);

struct Layouts {
  Layout query, key;
};

// Throws 161002 for layouts that do not exist or do not go together, with tensors of another rank, or without what they
// need. Reads neither memory nor sizes, which may be symbols.
Layouts read_layouts(const SequenceOperands& operands);

// Throws 161002 for layouts, lengths and pages that do not fit, with their names and what is allowed.
Batch read_batch(const SequenceOperands& operands);

// The tokens of the blocks that a row of `sparse_indices` names, in its order, up to the first -1. A query that sees
// `seen` keys has as many indices as these have blocks: no more are read.
void select_tokens(c10::ArrayRef<int32_t> indices, int64_t seen, int64_t block_size, std::vector<int32_t>& tokens);

// The tokens of one sequence in a tensor of the keys' layout: keys, their rope part, or their scales.
class Rows {
 public:
  Rows(const at::Tensor& tensor, Layout layout, const Sequence& sequence);

  const char* at(int64_t token) const {
    if (pages_ == nullptr) return base_ + token * token_bytes_;
    return base_ + pages_[token / page_size_] * page_bytes_ + token % page_size_ * token_bytes_;
  }
  template <class T>
  const T* at(int64_t token) const {
    return reinterpret_cast<const T*>(at(token));
  }
  // How many tokens from `token` on lie one after the other, `limit` at most.
  int64_t run(int64_t token, int64_t limit) const {
    return pages_ == nullptr ? limit : std::min(limit, page_size_ - token % page_size_);
  }
  int64_t token_bytes() const { return token_bytes_; }

 private:
  const char* base_;
  int64_t token_bytes_;
  int64_t page_bytes_ = 0;
  int64_t page_size_ = 1;
  const int32_t* pages_;
};

}  // namespace opwright::sparse
