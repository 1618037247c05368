// native/sparse_attention/indexer/select_top.h
// The highest scores of a long row that comes in blocks, in memory for twice as many.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace opwright::sparse {

// A token and its score as one number: the better token is greater. Equal scores: the lower token; NaN is above all.
using Ranked = uint64_t;

Ranked ranked(float score, int64_t token);
float score_of(Ranked entry);
int64_t token_of(Ranked entry);

// The `count` best of `entries`, best first; all if there are fewer.
void keep_best(std::vector<Ranked>& entries, int64_t count);

class TopSelection {
 public:
  // `block`: how many scores are offered at once, at most.
  TopSelection(int64_t count, int64_t block);

  // Begins a new row, or a part of one. `bar` is common to all parts of a row, 0 at first: `count` tokens that some
  // part has seen are at least that good, so that no part needs what is below.
  void begin(std::atomic<Ranked>* bar);
  // Takes the scores of the tokens from `first` on, which are behind those taken before.
  void take(const float* scores, int64_t count, int64_t first);
  // At least the best that this part adds to its row, in any order.
  const Ranked* entries() const { return entries_.data(); }
  int64_t size() const { return size_; }
  // Leaves at most `count`.
  void reduce();

 private:
  int64_t count_;
  int64_t full_;
  int64_t size_ = 0;
  Ranked lowest_ = 0;  // what is not above is not needed
  std::vector<Ranked> entries_;
  std::atomic<Ranked>* bar_ = nullptr;
};

}  // namespace opwright::sparse
