// native/sparse_attention/attention/tile.h
// The loops of attention over vectors (vector.h), for a way to multiply:
//
//   struct Multiply {
//     kStep              elements of 4 bytes that a lane multiplies at once: 1 float, or 2 of bfloat16
//     kTile              tokens of a tile
//     kInPlace           keys are read where they lie
//     kTiles             products are those of tile registers (tile_product)
//     add                sum + factor * lanes, where factor is 4 bytes in memory
//     copy_query         elements as they are multiplied
//     Keys, lay_out_keys, Values, lay_out_values
//     pack_probabilities
//   };
//
// In scores lanes are heads, so that keys can be read row by row where they lie and the softmax needs no reduction
// across lanes; in the second product lanes are columns of values.
#pragma once

#include "sparse_attention/attention/vector.h"

namespace opwright::sparse {
namespace {

constexpr int64_t kRows = 6;                      // tokens, or heads, whose sums are in registers at once
constexpr int64_t kGroup = kLanes == 16 ? 4 : 2;  // vectors of each
constexpr int64_t kPanel = kGroup * kLanes;       // columns of values at once
constexpr int64_t kWidth = kLatent + kRope;

constexpr int64_t padded(int64_t heads) { return (heads + kLanes - 1) / kLanes * kLanes; }
// Not a power of two: rows of scores must not share few sets of the cache.
constexpr int64_t score_stride(int64_t heads) { return padded(heads) + 16; }

// Values kept between tiles, and room for one.
template <class Multiply>
struct Scratch {
  float *highest, *sum;  // of each head
  float* tops;           // [tiles][heads]: the maximum when a tile's exponentials were computed
  float* accumulated;    // [heads][kLatent]
  char* queries;         // groups of vectors, in a group [steps][lanes]
  float* scores;         // [tokens][score_stride], exponentials after the first pass
  float* probabilities;  // [steps][score_stride]
  char* tokens;          // what lay_out_keys or lay_out_values makes
  float* transposed;     // [heads][steps]: probabilities for tile registers
  int64_t bytes;

  // Without memory: `bytes` only.
  Scratch(void* memory, int64_t heads, int64_t room) {
    const int64_t tiles = room / Multiply::kTile + 1;
    const auto base = reinterpret_cast<uintptr_t>(memory);
    bytes = 0;
    const auto take = [&](int64_t floats) {
      auto* const taken = reinterpret_cast<char*>(base + bytes);
      bytes += (floats + 15) / 16 * 64;
      return taken;
    };
    const auto take_floats = [&](int64_t floats) { return reinterpret_cast<float*>(take(floats)); };
    highest = take_floats(padded(heads));
    sum = take_floats(padded(heads));
    tops = take_floats(padded(heads) * tiles);
    accumulated = take_floats(padded(heads) * kLatent);
    queries = take(padded(heads) * kWidth / Multiply::kStep);
    scores = take_floats((tiles * Multiply::kTile + kRows) * score_stride(heads));
    probabilities = take_floats(Multiply::kTile / Multiply::kStep * score_stride(heads));
    tokens = take(Multiply::kTileFloats);
    transposed = take_floats(Multiply::kTiles ? padded(heads) * Multiply::kTile / Multiply::kStep : 0);
  }
  explicit Scratch(void* memory, const HeadRows& rows) : Scratch(memory, rows.heads, rows.room) {}

  float* scores_of(const HeadRows& rows, const TokenTile& tile) const {
    return scores + (rows.tokens <= rows.room ? tile.first : 0) * score_stride(rows.heads);
  }
};

template <class Multiply>
int64_t scratch_bytes(int64_t heads, int64_t room) {
  return Scratch<Multiply>(nullptr, heads, room).bytes;
}

// Vectors of heads are taken kGroup at a time, then 2, then 1: their packed queries lie so.
constexpr int64_t group_at(int64_t vectors_left) { return vectors_left >= kGroup ? kGroup : vectors_left >= 2 ? 2 : 1; }

// Steps of a key, and of its rope part.
template <class Multiply>
struct Depth {
  int64_t latent = kLatent / Multiply::kStep, rope;
  explicit Depth(const HeadRows& rows) : rope(rows.rope == nullptr ? 0 : kRope / Multiply::kStep) {}
  int64_t all() const { return latent + rope; }
};

// Writes one head's query, a row of 4-byte steps, into its lane.
void place(char* queries, int64_t head, int64_t heads, int64_t steps, const char* row) {
  const int64_t vectors = padded(heads) / kLanes, vector = head / kLanes;
  int64_t start = 0;
  while (start + group_at(vectors - start) <= vector) start += group_at(vectors - start);
  const int64_t lanes = group_at(vectors - start) * kLanes;
  char* const to = queries + 4 * (start * kLanes * steps + head - start * kLanes);
  for (int64_t i = 0; i < steps; ++i) std::memcpy(to + 4 * i * lanes, row + 4 * i, 4);
}

template <class Multiply>
void begin(const HeadRows& rows, void* memory) {
  const Scratch<Multiply> scratch(memory, rows);
  const Depth<Multiply> depth(rows);
  alignas(64) char row[4 * kWidth] = {};
  for (int64_t head = 0; head < padded(rows.heads); ++head) {
    const bool exists = head < rows.heads;
    if (exists) {
      Multiply::copy_query(rows.query + head * rows.query_bytes, kLatent, row);
      if (depth.rope != 0) Multiply::copy_query(rows.rope + head * rows.rope_bytes, kRope, row + 4 * depth.latent);
    } else {
      std::memset(row, 0, sizeof(row));
    }
    place(scratch.queries, head, rows.heads, depth.all(), row);
    const bool has_sink = exists && rows.sinks != nullptr;
    scratch.highest[head] = has_sink ? rows.sinks[head] : -__builtin_inff();
    scratch.sum[head] = has_sink ? 1.0F : 0.0F;
  }
}

constexpr int64_t kLineSteps = 16;  // steps of a row's cache line

// Scores of kRows tokens and some vectors of heads. Tokens are far apart: the memory's latency is hidden by asking for
// the kRows that follow.
template <class Multiply, int64_t kVectors>
void score_block(const char* queries, const Depth<Multiply>& depth, const char* const* keys, const char* const* ropes,
                 float* scores, int64_t stride) {
  Floats sums[kRows][kVectors] = {};
  const char* lanes = queries;
  const auto add_part = [&](const char* const* rows, int64_t steps) {
    const char* row[kRows];
    for (int64_t i = 0; i < kRows; ++i) row[i] = rows[i];
    for (int64_t line = 0; line < steps; line += kLineSteps) {
      if (Multiply::kInPlace) {
        for (int64_t i = 0; i < kRows; ++i) __builtin_prefetch(rows[kRows + i] + 4 * line);
      }
      for (int64_t step = line; step < line + kLineSteps; ++step, lanes += 4 * kVectors * kLanes) {
        Floats vectors[kVectors];
#pragma GCC unroll 8
        for (int64_t v = 0; v < kVectors; ++v) vectors[v] = load<Floats>(lanes + 4 * v * kLanes);
#pragma GCC unroll 8
        for (int64_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
          for (int64_t v = 0; v < kVectors; ++v) sums[i][v] = Multiply::add(sums[i][v], row[i] + 4 * step, vectors[v]);
        }
      }
    }
  };
  add_part(keys, depth.latent);
  if (depth.rope != 0) add_part(ropes, depth.rope);
#pragma GCC unroll 8
  for (int64_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int64_t v = 0; v < kVectors; ++v) store(scores + i * stride + v * kLanes, sums[i][v]);
  }
}

template <class Multiply>
void compute_scores(const HeadRows& rows, const TokenTile& tile, const Scratch<Multiply>& scratch, float* scores) {
  const Depth<Multiply> depth(rows);
  const int64_t vectors = padded(rows.heads) / kLanes, stride = score_stride(rows.heads);
  typename Multiply::Keys keys;
  Multiply::lay_out_keys(tile, depth.rope != 0, scratch.tokens, keys);
  for (int64_t start = 0; start < vectors; start += group_at(vectors - start)) {
    const char* const queries = scratch.queries + 4 * start * kLanes * depth.all();
    const int64_t group = group_at(vectors - start);
    if constexpr (Multiply::kTiles) {
      const int64_t elements = depth.all() * Multiply::kStep;
      tile_product(Multiply::kTile, group * kLanes, elements, elements, stride, false, scratch.tokens, queries,
                   scores + start * kLanes);
      continue;
    }
    const auto block = group == 4   ? score_block<Multiply, 4>
                       : group == 2 ? score_block<Multiply, 2>
                                    : score_block<Multiply, 1>;
    for (int64_t token = 0; token < tile.count; token += kRows) {
      block(queries, depth, keys.keys + token, keys.ropes + token, scores + token * stride + start * kLanes, stride);
    }
  }
  if constexpr (Multiply::kTiles) end_tile_products();
}

// The value to subtract from scores with this maximum: of -inf alone powers are 0, not NaN, since larger scores
// may follow.
Floats subtrahend(Floats highest) { return highest == -__builtin_inff() ? Floats{} : highest; }

// The first pass. Scores become e^(score - maximum so far); sums and maxima of the heads follow. With a NaN among its
// scores a head's maximum is NaN.
template <class Multiply>
void score_tile(const HeadRows& rows, const TokenTile& tile, void* memory) {
  const Scratch<Multiply> scratch(memory, rows);
  const int64_t stride = score_stride(rows.heads), heads = padded(rows.heads);
  float* const all = scratch.scores_of(rows, tile);
  compute_scores(rows, tile, scratch, all);
  for (int64_t head = 0; head < heads; head += kLanes) {
    float* const scores = all + head;
    const Floats before = load<Floats>(scratch.highest + head);
    Floats highest = before;
    auto has_nan = before != before;
    for (int64_t token = 0; token < tile.count; ++token) {
      const Floats score = load<Floats>(scores + token * stride) * rows.scale;
      highest = score > highest ? score : highest;
      has_nan |= score != score;
      store(scores + token * stride, score);
    }
    highest = has_nan ? fill(__builtin_nanf("")) : highest;
    const Floats top = subtrahend(highest);
    Floats sum{};
    for (int64_t token = 0; token < tile.count; ++token) {
      const Floats value = exponential(load<Floats>(scores + token * stride) - top);
      sum += value;
      store(scores + token * stride, value);
    }
    store(scratch.sum + head, load<Floats>(scratch.sum + head) * exponential(before - top) + sum);
    store(scratch.highest + head, highest);
    if (rows.tokens <= rows.room) store(scratch.tops + tile.first / Multiply::kTile * heads + head, highest);
  }
}

// Probabilities of a tile, of which the first pass has kept exponentials, or whose scores have to be computed again.
template <class Multiply>
void compute_probabilities(const HeadRows& rows, const TokenTile& tile, const Scratch<Multiply>& scratch) {
  const int64_t stride = score_stride(rows.heads), heads = padded(rows.heads);
  const bool is_kept = rows.tokens <= rows.room;
  float* const all = scratch.scores_of(rows, tile);
  if (!is_kept) compute_scores(rows, tile, scratch, all);
  for (int64_t head = 0; head < heads; head += kLanes) {
    float* const scores = all + head;
    const Floats highest = load<Floats>(scratch.highest + head);
    Floats factor = 1.0F / load<Floats>(scratch.sum + head);
    if (is_kept) {
      factor *= exponential(load<Floats>(scratch.tops + tile.first / Multiply::kTile * heads + head) - highest);
    } else {
      for (int64_t token = 0; token < tile.count; ++token) {
        float* const score = scores + token * stride;
        store(score, exponential(load<Floats>(score) * rows.scale - highest));
      }
    }
    Multiply::pack_probabilities(scores, stride, tile.count, factor, scratch.probabilities + head);
  }
}

// The contribution of `kCount` heads to kPanel columns.
template <class Multiply, int64_t kCount>
void value_block(const float* probabilities, int64_t stride, const char* values, int64_t value_bytes, int64_t steps,
                 bool is_first, float* accumulated) {
  Floats sums[kCount][kGroup];
#pragma GCC unroll 8
  for (int64_t i = 0; i < kCount; ++i) {
#pragma GCC unroll 8
    for (int64_t v = 0; v < kGroup; ++v) {
      sums[i][v] = is_first ? Floats{} : load<Floats>(accumulated + i * kLatent + v * kLanes);
    }
  }
  for (int64_t step = 0; step < steps; ++step) {
    Floats vectors[kGroup];
#pragma GCC unroll 8
    for (int64_t v = 0; v < kGroup; ++v) vectors[v] = load<Floats>(values + step * value_bytes + 4 * v * kLanes);
    const float* const factors = probabilities + step * stride;
#pragma GCC unroll 8
    for (int64_t i = 0; i < kCount; ++i) {
#pragma GCC unroll 8
      for (int64_t v = 0; v < kGroup; ++v) {
        sums[i][v] = Multiply::add(sums[i][v], reinterpret_cast<const char*>(factors + i), vectors[v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int64_t i = 0; i < kCount; ++i) {
#pragma GCC unroll 8
    for (int64_t v = 0; v < kGroup; ++v) store(accumulated + i * kLatent + v * kLanes, sums[i][v]);
  }
}

using ValueBlock = void (*)(const float*, int64_t, const char*, int64_t, int64_t, bool, float*);

// Prefetches the next tile's values, an even share each time.
class ValuePrefetch {
 public:
  ValuePrefetch(const TokenTile& tile, int64_t times)
      : rows_(tile.next_values), count_(tile.next_count * kLines), share_((count_ + times - 1) / times) {}
  void go_on() {
    for (int64_t i = 0; i < share_ && at_ < count_; ++i, ++at_) {
      __builtin_prefetch(rows_[at_ / kLines] + at_ % kLines * 64, 0, 2);
    }
  }

 private:
  static constexpr int64_t kLines = 2 * kLatent / 64;
  const char* const* rows_;
  int64_t count_, share_, at_ = 0;
};

// Probabilities [steps][heads] become [heads][all steps of a tile], 0 where there are no tokens.
template <class Multiply>
void transpose_probabilities(const Scratch<Multiply>& scratch, int64_t heads, int64_t steps) {
  constexpr int64_t kSteps = Multiply::kTile / Multiply::kStep;
  const int64_t stride = score_stride(heads);
  for (int64_t first = 0; first < kSteps; first += kLanes) {
    for (int64_t head = 0; head < heads; ++head) {
      float* const to = scratch.transposed + head * kSteps + first;
      for (int64_t i = 0; i < kLanes; ++i) {
        to[i] = first + i < steps ? scratch.probabilities[(first + i) * stride + head] : 0.0F;
      }
    }
  }
}

// The second pass.
template <class Multiply>
void add_tile(const HeadRows& rows, const TokenTile& tile, void* memory) {
  constexpr ValueBlock kBlocks[] = {value_block<Multiply, 1>, value_block<Multiply, 2>, value_block<Multiply, 3>,
                                    value_block<Multiply, 4>, value_block<Multiply, 5>, value_block<Multiply, 6>};
  const Scratch<Multiply> scratch(memory, rows);
  compute_probabilities(rows, tile, scratch);
  // Panels of kPanel columns, in steps of kStep tokens.
  const typename Multiply::Values values = Multiply::lay_out_values(tile, scratch.tokens);
  const int64_t steps = (tile.count + Multiply::kStep - 1) / Multiply::kStep;
  const bool is_first = tile.first + tile.count == rows.tokens;
  if constexpr (Multiply::kTiles) {
    transpose_probabilities(scratch, rows.heads, steps);
    for (int64_t panel = 0; panel < kLatent / kPanel; ++panel) {
      tile_product(rows.heads, kPanel, Multiply::kTile, Multiply::kTile, kLatent, !is_first, scratch.transposed,
                   values.first + panel * values.kPanelBytes, scratch.accumulated + panel * kPanel);
    }
    end_tile_products();
    return;
  }
  ValuePrefetch prefetch(tile, kLatent / kPanel * ((rows.heads + kRows - 1) / kRows));
  for (int64_t panel = 0; panel < kLatent / kPanel; ++panel) {
    for (int64_t head = 0; head < rows.heads; head += kRows) {
      prefetch.go_on();
      const int64_t count = rows.heads - head < kRows ? rows.heads - head : kRows;
      kBlocks[count - 1](scratch.probabilities + head, score_stride(rows.heads),
                         values.first + panel * values.kPanelBytes, values.kStepBytes, steps, is_first,
                         scratch.accumulated + head * kLatent + panel * kPanel);
    }
  }
}

template <class Multiply, class Format>
void finish(const HeadRows& rows, void* memory, const HeadResults& results) {
  const Scratch<Multiply> scratch(memory, rows);
  const bool is_empty = rows.tokens == 0;
  for (int64_t head = 0; head < rows.heads; ++head) {
    const bool nothing = is_empty && rows.sinks == nullptr;
    results.highest[head] = nothing ? 0.0F : scratch.highest[head];
    const bool has_no_sum = !is_empty && scratch.highest[head] == -__builtin_inff();  // -inf minus -inf
    results.sum[head] = nothing ? 0.0F : has_no_sum ? __builtin_nanf("") : scratch.sum[head];
    char* const out = results.out + 2 * head * kLatent;
    for (int64_t column = 0; column < kLatent; column += kLanes) {
      const Floats value = is_empty ? Floats{} : load<Floats>(scratch.accumulated + head * kLatent + column);
      store(out + 2 * column, Format::narrow(value));
    }
  }
}

}  // namespace
}  // namespace opwright::sparse
