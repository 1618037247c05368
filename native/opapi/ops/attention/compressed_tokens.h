// native/opapi/ops/attention/compressed_tokens.h
// Where queries, the tokens of a window and compressed keys are in their tensors, and which of them a query sees.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "opapi/opapi.h"

namespace opwright::opapi::compressed {

inline constexpr double kLowest = -std::numeric_limits<double>::infinity();

// Where the tokens of a sequence are in a tensor [B, S, N, D], [T, N, D] or [pages, page size, N, D].
struct TokenPlace {
  int64_t first, count;
};

// Callers leave them out as null or as empty tensors.
struct TokenLengths {
  OptionalTensor ends, used;  // ends begin with 0
};

inline std::vector<int64_t> on_host(const at::Tensor& tensor) {
  const at::Tensor numbers = tensor.to(at::kLong).contiguous();
  return {numbers.const_data_ptr<int64_t>(), numbers.const_data_ptr<int64_t>() + numbers.numel()};
}

inline bool is_paged(const std::string& layout) { return layout == "PA_BBND"; }
inline bool is_of_tokens(const std::string& layout) { return layout == "TND"; }

inline void require_layouts(const std::string& query, const std::string& key) {
  require((query == "BSND" || query == "TND") && (key == query || is_paged(key)), ACLNN_ERR_PARAM_INVALID,
          "the layouts are '", query, "' and '", key, "'; allowed: BSND or TND for both, or PA_BBND for keys");
}

inline std::vector<TokenPlace> places_of(const at::Tensor& tensor, const std::string& layout,
                                         const TokenLengths& lengths, const char* name) {
  std::vector<TokenPlace> places;
  require(tensor.dim() == (is_of_tokens(layout) ? 3 : 4), ACLNN_ERR_PARAM_INVALID, name, " has the shape ",
          tensor.sizes(), "; it does not fit layout ", layout);
  if (is_of_tokens(layout)) {
    require(lengths.ends && lengths.ends->numel() >= 1, ACLNN_ERR_PARAM_NULLPTR, "the sums of lengths of ", name,
            " are needed in layout TND");
    const std::vector<int64_t> ends = on_host(*lengths.ends);
    for (size_t i = 0; i + 1 < ends.size(); ++i) places.push_back({ends[i], ends[i + 1] - ends[i]});
  } else if (!is_paged(layout)) {
    places.assign(static_cast<size_t>(tensor.size(0)), {0, tensor.size(1)});
  }
  require(lengths.used || !is_paged(layout), ACLNN_ERR_PARAM_NULLPTR, "the lengths of ", name,
          " are needed in layout PA_BBND");
  if (lengths.used) {
    const std::vector<int64_t> used = on_host(*lengths.used);
    if (is_paged(layout)) places.assign(used.size(), {0, std::numeric_limits<int64_t>::max()});
    require(used.size() == places.size(), ACLNN_ERR_PARAM_INVALID, "there are ", used.size(), " lengths of ", name,
            " for ", places.size(), " sequences");
    for (size_t i = 0; i < used.size(); ++i) places[i].count = std::min(places[i].count, used[i]);
  }
  const int64_t room = is_of_tokens(layout) ? tensor.size(0) : std::numeric_limits<int64_t>::max();
  for (const TokenPlace& place : places) {
    require(place.first >= 0 && place.count >= 0 && place.first + place.count <= room, ACLNN_ERR_PARAM_INVALID,
            "a sequence of ", name, " begins at ", place.first, " and has ", place.count, " tokens; there are ", room);
  }
  return places;
}

// The tokens of sequence i, [count, N, D].
inline at::Tensor tokens_of(const at::Tensor& tensor, const std::string& layout, const OptionalTensor& table,
                            const TokenPlace& place, size_t i, const char* name) {
  const auto sequence = static_cast<int64_t>(i);
  if (is_of_tokens(layout)) return tensor.narrow(0, place.first, place.count);
  if (!is_paged(layout)) return tensor.select(0, sequence).narrow(0, 0, place.count);
  require(table && table->dim() == 2 && sequence < table->size(0), ACLNN_ERR_PARAM_INVALID, "the block table of ", name,
          " does not fit; it must be [sequences, blocks]");
  require(tensor.size(1) > 0, ACLNN_ERR_PARAM_INVALID, name, " has pages of no tokens");
  const int64_t pages = (place.count + tensor.size(1) - 1) / tensor.size(1);
  require(pages <= table->size(1), ACLNN_ERR_PARAM_INVALID, name, " needs ", pages,
          " pages for a sequence; the block table has ", table->size(1));
  const at::Tensor numbers = table->select(0, sequence).narrow(0, 0, pages).to(at::kLong);
  return tensor.index_select(0, numbers).flatten(0, 1).narrow(0, 0, place.count);
}

// Of an output laid out as queries, the rows of sequence i.
inline at::Tensor rows_for(const at::Tensor& out, const std::string& layout, const TokenPlace& place, size_t i) {
  return is_of_tokens(layout) ? out.narrow(0, place.first, place.count)
                              : out.select(0, static_cast<int64_t>(i)).narrow(0, 0, place.count);
}

enum TokenMask : int64_t { kEverything = 0, kCausal = 3, kBand = 4 };

// For each of `rows` queries that end with the last of `tokens`, how many tokens it sees, [rows, 1].
inline at::Tensor seen_tokens(int64_t rows, int64_t tokens, int64_t mode) {
  if (mode == kEverything) return at::full({rows, 1}, tokens, at::kLong);
  return at::arange(tokens - rows + 1, tokens + 1, at::kLong).unsqueeze(1);
}

// Which of `count` compressed keys lie before those ends, [rows, count].
inline at::Tensor visible_keys(const at::Tensor& ends, int64_t ratio, int64_t count) {
  return at::arange(count, at::kLong).unsqueeze(0) < ends.div(ratio, "floor");
}

// The number of tokens before the compression.
inline int64_t tokens_before(const OptionalTensor& residual, size_t i, int64_t keys, int64_t ratio, int64_t otherwise) {
  return residual ? keys * ratio + on_host(*residual).at(i) : otherwise;
}

struct MlaKeys {
  OptionalTensor keys, table;
  TokenLengths lengths;
};

struct MlaInputs {
  const at::Tensor& query;
  TokenLengths queries;
  MlaKeys original, compressed;
  OptionalTensor chosen, residual, sinks;
};

struct MlaSettings {
  double scale;
  int64_t ratio, original_mode, compressed_mode, left, right;
  const std::string &query_layout, &key_layout;
};

inline void check(const MlaInputs& inputs, const MlaSettings& settings) {
  require_layouts(settings.query_layout, settings.key_layout);
  require(inputs.original.keys.has_value(), ACLNN_ERR_PARAM_NULLPTR, "parameter 'oriKv' is null");
  require(!inputs.chosen || inputs.compressed.keys, ACLNN_ERR_PARAM_NULLPTR,
          "parameter 'cmpKv' is null, but 'cmpSparseIndices' names its keys");
  require(settings.original_mode == kEverything || settings.original_mode == kCausal || settings.original_mode == kBand,
          ACLNN_ERR_PARAM_INVALID, "oriMaskMode is ", settings.original_mode, "; allowed: 0, 3, 4");
  require(settings.compressed_mode == kEverything || settings.compressed_mode == kCausal, ACLNN_ERR_PARAM_INVALID,
          "cmpMaskMode is ", settings.compressed_mode, "; allowed: 0, 3");
  require(settings.ratio > 0 && settings.left >= -1 && settings.right >= -1, ACLNN_ERR_PARAM_INVALID,
          "cmpRatio, oriWinLeft and oriWinRight are ", settings.ratio, ", ", settings.left, ", ", settings.right,
          "; allowed: positive, and from -1 on");
}

inline at::Tensor token_window(int64_t rows, int64_t tokens, const MlaSettings& settings) {
  const at::Tensor numbers = at::arange(tokens, at::kLong).unsqueeze(0);
  const at::Tensor ends = seen_tokens(rows, tokens, settings.original_mode);
  if (settings.original_mode != kBand) return numbers < ends;
  at::Tensor seen = at::ones({rows, tokens}, at::kBool);
  if (settings.right >= 0) seen.logical_and_(numbers < ends + settings.right);
  if (settings.left >= 0) seen.logical_and_(numbers >= ends - settings.left - 1);
  return seen;
}

// Which compressed keys each query sees: all before its end, or those of them that are chosen.
inline at::Tensor seen_compressed(const MlaInputs& inputs, const MlaSettings& settings, const TokenPlace& queries,
                                  size_t i, int64_t keys, int64_t tokens) {
  const int64_t before = tokens_before(inputs.residual, i, keys, settings.ratio, tokens);
  const at::Tensor visible =
      visible_keys(seen_tokens(queries.count, before, settings.compressed_mode), settings.ratio, keys);
  if (!inputs.chosen) return visible;
  const at::Tensor index = rows_for(*inputs.chosen, settings.query_layout, queries, i).select(1, 0).to(at::kLong);
  const at::Tensor there = (index >= 0).logical_and(index < keys);
  const at::Tensor marks = at::zeros({queries.count, keys + 1}, at::kBool);
  marks.scatter_(1, index.masked_fill(there.logical_not(), keys), true);
  return marks.narrow(1, 0, keys).logical_and(visible);
}

}  // namespace opwright::opapi::compressed
