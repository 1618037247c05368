// native/sparse_attention/indexer/select_top.cpp
#include "sparse_attention/indexer/select_top.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

namespace opwright::sparse {

namespace {

constexpr uint32_t kSign = 0x80000000U;
constexpr uint32_t kLowest = ~0U;  // of a token's half: lower tokens are better
constexpr int64_t kSlack = 1024;   // candidates beside `count`, at least: few selections are made of many

// Numbers in the order of the floats they are made of; 0 and -0 are equal.
uint32_t ordered(float score) {
  if (score != score) return ~0U;
  score += 0.0F;
  uint32_t bits;
  std::memcpy(&bits, &score, sizeof bits);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

// Best first. Many entries: byte by byte from the last on, each time in the order before (bytes that all have in common
// are left out), which takes a quarter of the time of comparisons.
void sort_best(std::vector<Ranked>& entries) {
  constexpr size_t kFew = 256;
  constexpr int kBytes = sizeof(Ranked);
  constexpr int kValues = 256;
  if (entries.size() < kFew) {
    std::sort(entries.begin(), entries.end(), std::greater<>());
    return;
  }
  uint32_t places[kBytes][kValues] = {};
  for (const Ranked entry : entries) {
    for (int byte = 0; byte < kBytes; ++byte) ++places[byte][(entry >> (8 * byte)) & 0xFF];
  }
  std::vector<Ranked> sorted(entries.size());
  for (int byte = 0; byte < kBytes; ++byte) {
    const auto value_of = [byte](Ranked entry) { return (entry >> (8 * byte)) & 0xFF; };
    if (places[byte][value_of(entries[0])] == entries.size()) continue;
    uint32_t place = 0;
    for (int value = kValues - 1; value >= 0; --value) place += std::exchange(places[byte][value], place);
    for (const Ranked entry : entries) sorted[places[byte][value_of(entry)]++] = entry;
    entries.swap(sorted);
  }
}

}  // namespace

Ranked ranked(float score, int64_t token) {
  return (static_cast<Ranked>(ordered(score)) << 32) | (kLowest - static_cast<uint32_t>(token));
}

float score_of(Ranked entry) {
  const auto order = static_cast<uint32_t>(entry >> 32);
  const uint32_t bits = (order & kSign) != 0 ? order & ~kSign : ~order;
  float score;
  std::memcpy(&score, &bits, sizeof score);
  return score;
}

int64_t token_of(Ranked entry) { return kLowest - static_cast<uint32_t>(entry); }

void keep_best(std::vector<Ranked>& entries, int64_t count) {
  if (static_cast<int64_t>(entries.size()) > count) {
    std::nth_element(entries.begin(), entries.begin() + count, entries.end(), std::greater<>());
    entries.resize(count);
  }
  sort_best(entries);
}

TopSelection::TopSelection(int64_t count, int64_t block)
    : count_(count), full_(count + std::max(count, kSlack)), entries_(full_ + block) {}

void TopSelection::begin(std::atomic<Ranked>* bar) {
  size_ = 0;
  lowest_ = 0;
  bar_ = bar;
}

void TopSelection::take(const float* scores, int64_t count, int64_t first) {
  lowest_ = std::max(lowest_, bar_->load(std::memory_order_relaxed));
  if (lowest_ == 0) {
    for (int64_t i = 0; i < count; ++i) entries_[size_ + i] = ranked(scores[i], first + i);
    size_ += count;
  } else {
    const float limit = score_of(lowest_);
    for (int64_t i = 0; i < count; ++i) {
      if (scores[i] < limit) continue;
      const Ranked entry = ranked(scores[i], first + i);
      if (entry > lowest_) entries_[size_++] = entry;
    }
  }
  if (size_ > full_) reduce();
}

void TopSelection::reduce() {
  if (size_ <= count_) return;
  const auto begin = entries_.begin();
  std::nth_element(begin, begin + count_ - 1, begin + size_, std::greater<>());
  size_ = count_;
  lowest_ = entries_[count_ - 1];
  Ranked bar = bar_->load(std::memory_order_relaxed);
  while (bar < lowest_ && !bar_->compare_exchange_weak(bar, lowest_, std::memory_order_relaxed)) {
  }
}

}  // namespace opwright::sparse
