// native/ascendc/instructions/sort.cpp
#include "vector/sort.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "instructions/extent.h"

namespace AscendC::machine::vector {
namespace {

constexpr uint32_t kPairBytes = 8;
constexpr uint32_t kSorted = 32;

struct Pair {
  std::array<std::byte, kPairBytes> bytes;
};

float score_of(const Pair& pair, bool is_half) {
  if (is_half) {
    half value;
    std::memcpy(&value, pair.bytes.data(), sizeof value);
    return static_cast<float>(value);
  }
  float value;
  std::memcpy(&value, pair.bytes.data(), sizeof value);
  return value;
}

}  // namespace

void sort_32(Instruction& instruction, void* dst, const void* scores, const void* indices, bool is_half,
             uint32_t repeats) {
  constexpr const char* kApi = "Sort32";
  if (repeats == 0) return;
  if (repeats > MAX_REPEAT_TIMES) refuse(kApi, "repeatTime is ", repeats, "; allowed: 0 to 255");
  const uint32_t bytes = is_half ? 2 : 4;
  touch(instruction, kApi, "src0", scores, uint64_t{repeats} * kSorted * bytes, false);
  touch(instruction, kApi, "src1", indices, uint64_t{repeats} * kSorted * sizeof(uint32_t), false);
  touch(instruction, kApi, "dst", dst, uint64_t{repeats} * kSorted * kPairBytes, true);
  for (uint32_t repeat = 0; repeat < repeats; repeat++) {
    std::array<Pair, kSorted> pairs{};
    for (uint32_t i = 0; i < kSorted; i++) {
      const uint64_t number = uint64_t{repeat} * kSorted + i;
      std::memcpy(pairs[i].bytes.data(), static_cast<const std::byte*>(scores) + number * bytes, bytes);
      std::memcpy(pairs[i].bytes.data() + 4, static_cast<const std::byte*>(indices) + number * 4, 4);
    }
    std::stable_sort(pairs.begin(), pairs.end(),
                     [is_half](const Pair& a, const Pair& b) { return score_of(a, is_half) > score_of(b, is_half); });
    std::memcpy(static_cast<std::byte*>(dst) + uint64_t{repeat} * sizeof pairs, pairs.data(), sizeof pairs);
  }
}

void merge_sorted(Instruction& instruction, void* dst, const Merge& merge) {
  constexpr const char* kApi = "MrgSort";
  constexpr uint32_t kSourceAlignment = 8;
  if (merge.repeats == 0) return;
  uint64_t pairs = 0;
  for (uint32_t i = 0; i < merge.count; i++) pairs += merge.lengths[i];
  const bool alike = std::all_of(merge.lengths, merge.lengths + 4, [&](uint16_t n) { return n == merge.lengths[0]; });
  if (merge.repeats > 1 && (merge.stops || merge.count != 4 || !alike)) {
    refuse(kApi, "repeatTimes is ", merge.repeats,
           "; more than 1 needs 4 queues of equal length, one behind the other, and ifExhaustedSuspension = false");
  }
  for (uint32_t i = 0; i < merge.count; i++) {
    // Repeats go on behind all queues: each queue is seen at a distance of all of them.
    for (uint32_t repeat = 0; repeat < merge.repeats; repeat++) {
      const std::byte* from = static_cast<const std::byte*>(merge.queues[i]) + repeat * pairs * kPairBytes;
      touch(instruction, kApi, "src", from, uint64_t{merge.lengths[i]} * kPairBytes, false, kSourceAlignment);
    }
  }
  touch(instruction, kApi, "dst", dst, merge.repeats * pairs * kPairBytes, true);
  uint32_t* counts = core().registers.merge_counts;
  for (uint32_t repeat = 0; repeat < merge.repeats; repeat++) {
    std::fill_n(counts, 4, 0u);
    auto* to = static_cast<std::byte*>(dst) + repeat * pairs * kPairBytes;
    for (uint64_t done = 0; done < pairs; done++) {
      int best = -1;
      Pair taken{};
      for (uint32_t i = 0; i < merge.count; i++) {
        if (counts[i] == merge.lengths[i]) continue;
        Pair head;
        std::memcpy(&head, static_cast<const std::byte*>(merge.queues[i]) + (repeat * pairs + counts[i]) * kPairBytes,
                    kPairBytes);
        if (best < 0 || score_of(head, merge.is_half) > score_of(taken, merge.is_half)) {
          best = static_cast<int>(i);
          taken = head;
        }
      }
      std::memcpy(to + done * kPairBytes, &taken, kPairBytes);
      counts[best]++;
      if (merge.stops && counts[best] == merge.lengths[best]) break;
    }
  }
}

}  // namespace AscendC::machine::vector
