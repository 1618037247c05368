// native/sparse_attention/attention/kernels.h
// The inner loops of sparse attention, for each instruction set: one query row, some of its heads, its tokens a tile at
// a time. A first pass has the scores and the softmax's maxima and sums, a second the probabilities, which are rounded
// to the query's dtype as the operator does, and the result. What a head gets does not depend on which heads it is
// computed with. Included by files that are compiled for an instruction set: no inline functions here.
#pragma once

#include <cstdint>

#include "sparse_attention/sizes.h"

namespace opwright::sparse {

constexpr int64_t kHeadStep = 16;     // heads are divided among threads in multiples of it
constexpr int64_t kTilePadding = 16;  // a kernel may read as many pointers more than there are tokens

enum class Element { kHalf, kBfloat16 };
enum class Code { kInt8, kFloat8 };  // of a quantised cache

struct HeadRows {
  const char* query;    // of the first head, kLatent elements
  int64_t query_bytes;  // from head to head
  const char* rope;     // kRope elements; null if there is no such part
  int64_t rope_bytes;
  int64_t heads;
  float scale;
  const float* sinks;  // may be null
  int64_t room;        // scores of so many tokens are kept from the first pass to the second
  int64_t tokens;      // of all tiles; beyond `room` the second pass computes scores again
};

// Where the tokens of a tile lie, and the values of the tile that is added after it, so that they can be fetched early.
struct TokenTile {
  const char *const *keys, *const *ropes, *const *values;
  int64_t first, count;  // all tiles but the last are full
  const char* const* next_values;
  int64_t next_count;
};

struct HeadResults {
  char* out;  // [heads, kLatent], one after the other
  float *highest, *sum;
};

// begin, then score for each tile, then add for each tile from the last to the first, whose tokens are the likelier in
// a cache the later they were read, then finish.
struct AttentionKernel {
  int64_t tile;  // tokens
  int64_t (*scratch_bytes)(int64_t heads, int64_t room);
  void (*begin)(const HeadRows& rows, void* scratch);
  void (*score)(const HeadRows& rows, const TokenTile& tile, void* scratch);
  void (*add)(const HeadRows& rows, const TokenTile& tile, void* scratch);
  void (*finish)(const HeadRows& rows, void* scratch, const HeadResults& results);
  // From a token of a quantised cache: kLatent elements.
  void (*dequantize)(const char* token, Code code, char* out);
};

// The fastest of this process (isa()).
const AttentionKernel& attention_kernel(Element element);

// Those of an instruction set; null where it has none of its own.
const AttentionKernel* attention_base(Element element);
const AttentionKernel* attention_avx2(Element element);
const AttentionKernel* attention_avx512(Element element);
const AttentionKernel* attention_avx512_bf16(Element element);
const AttentionKernel* attention_amx(Element element);
// That of attention_amx, whatever the CPU has.
const AttentionKernel* attention_tiles();

// A product of oneDNN, which uses tile registers: c [rows, columns] (+)= a [rows, depth] b, with b in pairs of rows
// [depth / 2, columns, 2]; strides in elements.
void tile_product(int64_t rows, int64_t columns, int64_t depth, int64_t a_stride, int64_t c_stride, bool adds,
                  const void* a, const void* b, float* c);
void end_tile_products();

}  // namespace opwright::sparse
