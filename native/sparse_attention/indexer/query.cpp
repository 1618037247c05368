// native/sparse_attention/indexer/query.cpp
#include "sparse_attention/indexer/query.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstring>

namespace opwright::sparse {

namespace {

constexpr int64_t kShift = 128;  // of keys as unsigned bytes

}  // namespace

QueryRows::QueryRows(const ScoreKernel& kernel, const IndexerScan& scan, int64_t rows)
    : kernel_(kernel),
      scan_(scan),
      heads_(scan.query.size(-2)),
      padded_((heads_ + kernel.lanes - 1) / kernel.lanes * kernel.lanes),
      words_(padded_ * kHeadSize / kernel.pack),
      values_(at::zeros({rows, words_}, at::kInt)),
      start_(at::zeros({rows, padded_}, at::kInt)),
      weights_(at::full({rows, padded_}, -0.0, at::kFloat)) {
  const bool needed = !kernel.reads_in_place && !kernel.shifts_keys;
  if (needed) converted_.resize(heads_ * 4 * kHeadSize / kernel.pack);
}

void QueryRows::load(int64_t first, int64_t rows) {
  const int64_t row_bytes = heads_ * kHeadSize * scan_.query.element_size();
  for (int64_t row = 0; row < rows; ++row) {
    const char* heads = static_cast<const char*>(scan_.query.const_data_ptr()) + (first + row) * row_bytes;
    const float* const weights = scan_.weights.const_data_ptr<float>() + (first + row) * heads_;
    std::transform(weights, weights + heads_, weights_.mutable_data_ptr<float>() + row * padded_,
                   [](float weight) { return weight + 0.0F; });  // -0 becomes 0
    if (kernel_.shifts_keys) {
      int32_t* const start = start_.mutable_data_ptr<int32_t>() + row * padded_;
      for (int64_t head = 0; head < heads_; ++head) {
        const auto* values = reinterpret_cast<const int8_t*>(heads) + head * kHeadSize;
        int32_t sum = 0;
        for (int64_t i = 0; i < kHeadSize; ++i) sum += values[i];
        start[head] = static_cast<int32_t>(-kShift * sum);
      }
    } else if (!converted_.empty()) {
      const char* pointers[kMostHeads];
      for (int64_t head = 0; head < heads_; ++head) pointers[head] = heads + head * row_bytes / heads_;
      kernel_.convert(pointers, heads_, converted_.data());
      heads = converted_.data();
    }
    pack(heads, values_.mutable_data_ptr<int32_t>() + row * words_);
  }
}

// From [heads][words of a head] to groups of [words of a head][heads of the group].
void QueryRows::pack(const char* heads, int32_t* out) const {
  const int64_t words = kHeadSize / kernel_.pack;
  for (int64_t group = 0; group < padded_; group += kernel_.group) {
    const int64_t width = std::min(kernel_.group, padded_ - group);
    const int64_t used = std::min(kernel_.group, heads_ - group);
    for (int64_t head = 0; head < used; ++head) {
      const char* const from = heads + (group + head) * words * 4;  // perhaps not aligned to words
      int32_t* const to = out + group * words + head;
      for (int64_t word = 0; word < words; ++word) std::memcpy(to + word * width, from + 4 * word, 4);
    }
  }
}

PackedQuery QueryRows::row(int64_t index) const {
  const int32_t* const start = start_.const_data_ptr<int32_t>() + index * padded_;
  return {values_.const_data_ptr<int32_t>() + index * words_, kernel_.shifts_keys ? start : nullptr,
          weights_.const_data_ptr<float>() + index * padded_, padded_};
}

}  // namespace opwright::sparse
