// native/sparse_attention/indexer/kernels.h
// The inner loop of the lightning indexer, for each instruction set:
//
//   score[key] = sum over heads of weight[head] * max(0, query[head] . key)
//
// Vector lanes are heads, so that keys are read where they lie, page by page, and products never leave the registers.
// Included by files that are compiled for an instruction set: no inline functions here.
#pragma once

#include <cstdint>

namespace opwright::sparse {

constexpr int64_t kHeadSize = 128;
constexpr int64_t kMostHeads = 64;
constexpr int64_t kKeyBlock = 240;   // keys that a kernel is called with at most
constexpr int64_t kKeyPadding = 12;  // a kernel may read pointers to as many keys more, and write their scores

constexpr int32_t kPaddingBits = INT32_MIN;  // of the weight of padding, -0

enum class KeyType { kHalf, kBfloat16, kInt8, kFloat8 };

// Queries of a row as a kernel reads them: groups of heads, in a group [kHeadSize / pack][heads of the group][pack].
struct PackedQuery {
  const void* values;
  const int32_t* start;  // what the products of each head begin with, where they are integers
  const float* weights;
  int64_t heads;  // a multiple of the kernel's lanes: padding has weight -0, which no head has
};

struct ScoreKernel {
  int64_t lanes;
  int64_t group;        // heads of a group, at most
  int64_t pack;         // elements that one lane multiplies at once, 4 bytes together
  bool shifts_keys;     // keys are multiplied as unsigned bytes, 128 too large, which `start` makes up for
  bool reads_in_place;  // keys are read where they lie; else `convert` is called with them
  // Converts rows of kHeadSize elements into 4 * kHeadSize / pack bytes each; of queries as well, unless they are
  // read in place or shifted.
  void (*convert)(const char* const* rows, int64_t count, char* out);
  // Reads `count` keys, converted ones one after the other.
  void (*scores)(const PackedQuery& query, const char* const* keys, int64_t count, float* scores);
};

// The fastest of this process (isa()).
const ScoreKernel& score_kernel(KeyType type);

// Those of an instruction set; null where it has none of its own.
const ScoreKernel* score_base(KeyType type);
const ScoreKernel* score_avx2(KeyType type);
const ScoreKernel* score_avx512(KeyType type);
const ScoreKernel* score_avx512_vnni(KeyType type);
const ScoreKernel* score_avx512_bf16(KeyType type);
const ScoreKernel* score_amx(KeyType type);

// Of products [count][heads]: the last step of the formula above.
void add_heads_avx512(const float* products, int64_t count, const PackedQuery& query, float* scores);

}  // namespace opwright::sparse
