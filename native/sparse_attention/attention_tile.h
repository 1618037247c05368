// native/sparse_attention/attention_tile.h
// The loops of attention over vectors (attention_vector.h) for a way to multiply:
//
//   struct Multiply {
//     kStep         elements of 4 bytes that one lane multiplies at once: 1 float, or 2 of bfloat16
//     kTile         tokens of a tile
//     add(sum, factor, lanes)  sum + factor * lanes, where factor is 4 bytes in memory
//     pack_query, lay_out_tile, store_powers
//   };
//
// In scores lanes are heads, so that keys are read row by row where they lie and the softmax needs no reduction across
// lanes; in the second product lanes are columns of values.
#pragma once

#include "sparse_attention/attention_vector.h"

namespace opwright::sparse {
namespace {

constexpr int64_t kRows = 6;                      // tokens, or heads, whose sums are in registers at once
constexpr int64_t kGroup = kLanes == 16 ? 4 : 2;  // vectors of each
constexpr int64_t kPanel = kGroup * kLanes;       // columns of values at once
constexpr int64_t kWidth = kLatent + kRope;

constexpr int64_t padded(int64_t heads) { return (heads + kLanes - 1) / kLanes * kLanes; }
// Not a multiple of a page: rows of scores must not share few sets of the cache.
constexpr int64_t score_stride(int64_t heads) { return padded(heads) + 16; }

// What is kept between tiles, and room for one.
template <class Multiply>
struct Scratch {
  float *highest, *sum, *correction;  // of each head
  float* accumulated;                 // [heads][kLatent]
  char* queries;                      // groups of vectors, in a group [steps][lanes]
  float* scores;                      // [tokens][score_stride]
  char* tokens;                       // what lay_out_tile makes
  bool* is_empty;

  Scratch(void* memory, int64_t heads) {
    auto* next = static_cast<float*>(memory);
    const auto take = [&](int64_t floats) {
      float* const taken = next;
      next += (floats + 15) / 16 * 16;
      return taken;
    };
    highest = take(padded(heads));
    sum = take(padded(heads));
    correction = take(padded(heads));
    is_empty = reinterpret_cast<bool*>(take(1));
    accumulated = take(padded(heads) * kLatent);
    queries = reinterpret_cast<char*>(take(padded(heads) * kWidth / Multiply::kStep));
    scores = take((Multiply::kTile + kRows) * score_stride(heads));
    tokens = reinterpret_cast<char*>(take(Multiply::kTileFloats));
    bytes = (next - static_cast<float*>(memory)) * 4;
  }
  int64_t bytes;
};

template <class Multiply>
int64_t scratch_bytes(int64_t heads) {
  static float* const kNowhere = nullptr;
  return Scratch<Multiply>(kNowhere, heads).bytes;
}

// Vectors of heads are taken kGroup at a time, then 2, then 1: their packed queries lie so.
constexpr int64_t group_at(int64_t vectors_left) { return vectors_left >= kGroup ? kGroup : vectors_left >= 2 ? 2 : 1; }

// Sets element `step` (4 bytes) of each head's query.
template <class Multiply>
void place(char* queries, int64_t head, int64_t heads, int64_t steps, const char* row, int64_t count, int64_t first) {
  const int64_t vectors = padded(heads) / kLanes, vector = head / kLanes;
  int64_t start = 0;
  while (start + group_at(vectors - start) <= vector) start += group_at(vectors - start);
  const int64_t lanes = group_at(vectors - start) * kLanes;
  char* const to = queries + 4 * (start * kLanes * steps + head - start * kLanes);
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + 4 * (first + i) * lanes, row + 4 * i, 4);
}

template <class Multiply>
void begin(const HeadRows& rows, void* memory) {
  const Scratch<Multiply> scratch(memory, rows.heads);
  const int64_t heads = rows.heads;
  const int64_t latent = kLatent / Multiply::kStep, rope = rows.rope == nullptr ? 0 : kRope / Multiply::kStep;
  alignas(64) char row[4 * kLatent] = {};
  for (int64_t head = 0; head < padded(heads); ++head) {
    const bool exists = head < heads;
    if (exists) Multiply::copy_query(rows.query + head * rows.query_bytes, kLatent, row);
    if (head == heads) std::memset(row, 0, sizeof(row));
    place<Multiply>(scratch.queries, head, heads, latent + rope, row, latent, 0);
    if (exists && rope != 0) Multiply::copy_query(rows.rope + head * rows.rope_bytes, kRope, row);
    if (rope != 0) place<Multiply>(scratch.queries, head, heads, latent + rope, row, rope, latent);
    const bool has_sink = exists && rows.sinks != nullptr;
    scratch.highest[head] = has_sink ? rows.sinks[head] : -__builtin_inff();
    scratch.sum[head] = has_sink ? 1.0F : 0.0F;
  }
  *scratch.is_empty = true;
}

// Scores of kRows tokens and some vectors of heads.
template <class Multiply, int64_t kVectors>
void score_block(const char* queries, int64_t latent, int64_t rope, const char* const* keys, const char* const* ropes,
                 float* scores, int64_t stride) {
  Floats sums[kRows][kVectors] = {};
  const char* lanes = queries;
  const auto add_part = [&](const char* const* rows, int64_t steps) {
    const char* row[kRows];
    for (int64_t i = 0; i < kRows; ++i) row[i] = rows[i];
    for (int64_t step = 0; step < steps; ++step, lanes += 4 * kVectors * kLanes) {
      Floats vectors[kVectors];
#pragma GCC unroll 8
      for (int64_t v = 0; v < kVectors; ++v) vectors[v] = load<Floats>(lanes + 4 * v * kLanes);
#pragma GCC unroll 8
      for (int64_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
        for (int64_t v = 0; v < kVectors; ++v) sums[i][v] = Multiply::add(sums[i][v], row[i] + 4 * step, vectors[v]);
      }
    }
  };
  add_part(keys, latent);
  if (rope != 0) add_part(ropes, rope);
#pragma GCC unroll 8
  for (int64_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int64_t v = 0; v < kVectors; ++v) store(scores + i * stride + v * kLanes, sums[i][v]);
  }
}

template <class Multiply>
void compute_scores(const HeadRows& rows, const TokenTile& tile, const Scratch<Multiply>& scratch) {
  const int64_t latent = kLatent / Multiply::kStep, rope = rows.rope == nullptr ? 0 : kRope / Multiply::kStep;
  const int64_t vectors = padded(rows.heads) / kLanes, stride = score_stride(rows.heads);
  for (int64_t start = 0; start < vectors; start += group_at(vectors - start)) {
    const char* const queries = scratch.queries + 4 * start * kLanes * (latent + rope);
    const int64_t group = group_at(vectors - start);
    const auto block = group == 4   ? score_block<Multiply, 4>
                       : group == 2 ? score_block<Multiply, 2>
                                    : score_block<Multiply, 1>;
    for (int64_t token = 0; token < tile.count; token += kRows) {
      block(queries, latent, rope, tile.keys + token, tile.ropes + token,
            scratch.scores + token * stride + start * kLanes, stride);
    }
  }
}

// Scores become e^(score - maximum); sums and maxima of the heads follow, and `correction` is what the sums so far
// have to be multiplied with.
template <class Multiply>
void soften(const HeadRows& rows, int64_t count, const Scratch<Multiply>& scratch) {
  const int64_t stride = score_stride(rows.heads);
  for (int64_t head = 0; head < padded(rows.heads); head += kLanes) {
    float* const scores = scratch.scores + head;
    const Floats before = load<Floats>(scratch.highest + head);
    Floats highest = before;
    for (int64_t token = 0; token < count; ++token) {
      const Floats score = load<Floats>(scores + token * stride) * rows.scale;
      highest = score > highest ? score : highest;
      store(scores + token * stride, score);
    }
    const Floats correction = power(before - highest);
    const Floats sum = Multiply::store_powers(scores, stride, count, highest);
    store(scratch.sum + head, load<Floats>(scratch.sum + head) * correction + sum);
    store(scratch.highest + head, highest);
    store(scratch.correction + head, correction);
  }
}

// What `count` heads add to kPanel columns.
template <class Multiply, int64_t kCount>
void value_block(const float* powers, int64_t power_stride, const char* values, int64_t value_bytes, int64_t steps,
                 const float* correction, bool is_first, float* accumulated) {
  Floats sums[kCount][kGroup];
#pragma GCC unroll 8
  for (int64_t i = 0; i < kCount; ++i) {
#pragma GCC unroll 8
    for (int64_t v = 0; v < kGroup; ++v) {
      sums[i][v] = is_first ? Floats{} : load<Floats>(accumulated + i * kLatent + v * kLanes) * correction[i];
    }
  }
  for (int64_t step = 0; step < steps; ++step) {
    Floats vectors[kGroup];
#pragma GCC unroll 8
    for (int64_t v = 0; v < kGroup; ++v) vectors[v] = load<Floats>(values + step * value_bytes + 4 * v * kLanes);
    const float* const power = powers + step * power_stride;
#pragma GCC unroll 8
    for (int64_t i = 0; i < kCount; ++i) {
#pragma GCC unroll 8
      for (int64_t v = 0; v < kGroup; ++v) {
        sums[i][v] = Multiply::add(sums[i][v], reinterpret_cast<const char*>(power + i), vectors[v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int64_t i = 0; i < kCount; ++i) {
#pragma GCC unroll 8
    for (int64_t v = 0; v < kGroup; ++v) store(accumulated + i * kLatent + v * kLanes, sums[i][v]);
  }
}

template <class Multiply>
using ValueBlock = void (*)(const float*, int64_t, const char*, int64_t, int64_t, const float*, bool, float*);

// Where lay_out_tile has put the values: panels of kPanel columns, steps of kStep tokens.
struct ValuePanels {
  const char* first;
  int64_t panel_bytes, step_bytes;
};

template <class Multiply>
void add_values(const HeadRows& rows, int64_t count, const ValuePanels& panels, const Scratch<Multiply>& scratch) {
  constexpr ValueBlock<Multiply> kBlocks[] = {nullptr,
                                              value_block<Multiply, 1>,
                                              value_block<Multiply, 2>,
                                              value_block<Multiply, 3>,
                                              value_block<Multiply, 4>,
                                              value_block<Multiply, 5>,
                                              value_block<Multiply, 6>};
  const int64_t steps = (count + Multiply::kStep - 1) / Multiply::kStep;
  for (int64_t panel = 0; panel < kLatent / kPanel; ++panel) {
    const char* const values = panels.first + panel * panels.panel_bytes;
    for (int64_t head = 0; head < rows.heads; head += kRows) {
      const int64_t block = rows.heads - head < kRows ? rows.heads - head : kRows;
      kBlocks[block](scratch.scores + head, score_stride(rows.heads), values, panels.step_bytes, steps,
                     scratch.correction + head, *scratch.is_empty,
                     scratch.accumulated + head * kLatent + panel * kPanel);
    }
  }
}

template <class Multiply>
void add_tile(const HeadRows& rows, const TokenTile& tile, void* memory) {
  const Scratch<Multiply> scratch(memory, rows.heads);
  typename Multiply::LaidOut laid_out;
  Multiply::lay_out_tile(tile, rows.rope != nullptr, scratch.tokens, laid_out);
  compute_scores(rows, laid_out.tile, scratch);
  soften(rows, tile.count, scratch);
  add_values(rows, tile.count, laid_out.values, scratch);
  *scratch.is_empty = false;
}

template <class Multiply, class Format>
void finish(const HeadRows& rows, void* memory, const HeadResults& results) {
  const Scratch<Multiply> scratch(memory, rows.heads);
  const bool is_empty = *scratch.is_empty;
  for (int64_t head = 0; head < rows.heads; ++head) {
    char* const out = results.out + 2 * head * kLatent;
    const bool nothing = is_empty && rows.sinks == nullptr;
    results.highest[head] = nothing ? 0.0F : scratch.highest[head];
    results.sum[head] = nothing ? 0.0F : scratch.sum[head];
    const float factor = 1.0F / scratch.sum[head];
    for (int64_t column = 0; column < kLatent; column += kLanes) {
      const Floats value = is_empty ? Floats{} : load<Floats>(scratch.accumulated + head * kLatent + column) * factor;
      store(out + 2 * column, Format::narrow(value));
    }
  }
}

}  // namespace
}  // namespace opwright::sparse
