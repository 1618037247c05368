// native/sparse_attention/indexer/tile.h
// The loop nest of a score kernel, over the vectors of an instruction set. `Math` has
//
//   kLanes, kPack       heads of a vector; neighbours of a head that one lane multiplies
//   kVectors, keys(v)   vectors of a group of heads; how many keys fit into registers beside v vectors
//   Sums, Factors       vectors of products and of what is multiplied
//   Floats              a vector of floats, with load, store, positive (at least 0; NaN stays)
//   add_score           adds score times weight, but for padding: its products are NaN where a key is infinite
//   begin, factors, broadcast, dot, floats_of
//   scaled_to_half      of products of bytes: divided by 1024 and rounded to float16
//   reduce              sums of the lanes, of many vectors
//
// In an unnamed namespace: each file that includes it is compiled for another instruction set.
#pragma once

#include <cstdint>
#include <cstring>

#include "sparse_attention/indexer/kernels.h"

namespace opwright::sparse {
namespace {

// From where keys are read in place, at multiples of 2 bytes only.
template <class T>
T read(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// V vectors of heads by K keys. Writes, or adds to, one vector of sums for each key.
template <class Math, bool kScalesToHalf, int V, int K>
[[gnu::noinline]] void tile(const int32_t* query, const int32_t* start, const float* weights, const char* const* keys,
                            float* sums, bool first) {
  constexpr int64_t kSteps = kHeadSize / Math::kPack;
  typename Math::Sums products[V][K];
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) {
#pragma GCC unroll 12
    for (int k = 0; k < K; ++k) products[v][k] = Math::begin(start, v);
  }
  const char* key[K];
#pragma GCC unroll 12
  for (int k = 0; k < K; ++k) key[k] = keys[k];
  for (int64_t step = 0; step < kSteps; ++step) {
    typename Math::Factors factors[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) factors[v] = Math::factors(query + (step * V + v) * Math::kLanes);
#pragma GCC unroll 12
    for (int k = 0; k < K; ++k) {
      const auto element = Math::broadcast(key[k] + 4 * step);
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) products[v][k] = Math::dot(products[v][k], factors[v], element);
    }
  }
  asm volatile("" : "+r"(weights));  // or their loads would take registers from the loop above
#pragma GCC unroll 12
  for (int k = 0; k < K; ++k) {
    auto sum = Math::load(sums + k * Math::kLanes);
    if (first) sum = Math::zero();
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      auto score = Math::positive(Math::floats_of(products[v][k]));
      if constexpr (kScalesToHalf) score = Math::scaled_to_half(score);
      sum = Math::add_score(sum, score, Math::load(weights + v * Math::kLanes));
    }
    Math::store(sums + k * Math::kLanes, sum);
  }
}

template <class Math, bool kScalesToHalf, int V>
void group_of(const int32_t* query, const int32_t* start, const float* weights, const char* const* keys, int64_t count,
              float* sums, bool first) {
  constexpr int kKeys = Math::keys(V);
  for (int64_t i = 0; i < count; i += kKeys) {
    tile<Math, kScalesToHalf, V, kKeys>(query, start, weights, keys + i, sums + i * Math::kLanes, first);
  }
}

// The kernel. Each key's score is computed alike wherever it stands, so that results do not depend on blocks.
template <class Math, bool kScalesToHalf>
void tiled_scores(const PackedQuery& query, const char* const* keys, int64_t count, float* scores) {
  alignas(64) float sums[(kKeyBlock + kKeyPadding) * Math::kLanes];
  constexpr int64_t kGroup = Math::kVectors * Math::kLanes;
  for (int64_t head = 0; head < query.heads; head += kGroup) {
    const auto* values = static_cast<const int32_t*>(query.values) + head * kHeadSize / Math::kPack;
    const int32_t* const start = query.start == nullptr ? nullptr : query.start + head;
    const int64_t left = (query.heads - head) / Math::kLanes;
    const auto call = [&](auto* run) { run(values, start, query.weights + head, keys, count, sums, head == 0); };
    if (left == 1) {
      call(group_of<Math, kScalesToHalf, 1>);
    } else if (left == 2 || Math::kVectors == 2) {
      call(group_of<Math, kScalesToHalf, 2>);
    } else if constexpr (Math::kVectors > 2) {
      call(left == 3 ? group_of<Math, kScalesToHalf, 3> : group_of<Math, kScalesToHalf, 4>);
    }
  }
  Math::reduce(sums, count, scores);
}

// Rows converted to float32 by a function that reads a vector.
template <class Math, typename Math::Floats (*kRead)(const char*), int kBytes>
void to_floats(const char* const* rows, int64_t count, char* out) {
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t i = 0; i < kHeadSize; i += Math::kLanes) {
      Math::store(reinterpret_cast<float*>(out) + row * kHeadSize + i, kRead(rows[row] + i * kBytes));
    }
  }
}

// The kernels that multiply float32, for all types of keys.
template <class Math>
const ScoreKernel* float_kernel(KeyType type) {
  constexpr int64_t kGroup = Math::kVectors * Math::kLanes;
  static constexpr ScoreKernel kKernels[] = {
      {Math::kLanes, kGroup, 1, false, false, to_floats<Math, Math::half, 2>, tiled_scores<Math, false>},
      {Math::kLanes, kGroup, 1, false, false, to_floats<Math, Math::bfloat16, 2>, tiled_scores<Math, false>},
      {Math::kLanes, kGroup, 1, false, false, to_floats<Math, Math::int8, 1>, tiled_scores<Math, true>},
      {Math::kLanes, kGroup, 1, false, false, to_floats<Math, Math::float8, 1>, tiled_scores<Math, false>}};
  return &kKernels[static_cast<int>(type)];
}

}  // namespace
}  // namespace opwright::sparse
