// native/sparse_attention/indexer/kernel_base.cpp
// Score kernels for any CPU, in vectors of 4 that the compiler knows.
#include <c10/util/BFloat16.h>
#include <c10/util/Float8_e4m3fn.h>
#include <c10/util/Half.h>

#include <cstring>

#include "sparse_attention/indexer/tile.h"

namespace opwright::sparse {

namespace {

using Four = float __attribute__((vector_size(16)));
using Bits = int32_t __attribute__((vector_size(16)));

struct Base {
  static constexpr int kLanes = 4;
  static constexpr int kPack = 1;
  static constexpr int kVectors = 2;
  static constexpr int keys(int) { return 4; }
  using Floats = Four;
  using Sums = Four;
  using Factors = Four;

  static Floats zero() { return Four{}; }
  static Floats load(const void* from) {
    Four values;
    std::memcpy(&values, from, sizeof values);
    return values;
  }
  static void store(float* to, Floats values) { std::memcpy(to, &values, sizeof values); }
  static Floats positive(Floats values) { return values < 0 ? Four{} : values; }
  static Floats add_score(Floats sum, Floats score, Floats weights) {
    return (Bits)weights == kPaddingBits ? sum : sum + score * weights;
  }
  static Floats scaled_to_half(Floats products) {
    for (int i = 0; i < kLanes; ++i) products[i] = c10::Half(products[i] / 1024);
    return products;
  }

  static Sums begin(const int32_t*, int) { return zero(); }
  static Factors factors(const int32_t* from) { return load(from); }
  static Factors broadcast(const char* from) {
    const float value = read<float>(from);
    return Four{value, value, value, value};
  }
  static Sums dot(Sums sum, Factors x, Factors y) { return sum + x * y; }
  static Floats floats_of(Sums sums) { return sums; }

  static void reduce(const float* sums, int64_t count, float* scores) {
    for (int64_t i = 0; i < count; ++i) {
      const float* const four = sums + i * kLanes;
      scores[i] = (four[0] + four[2]) + (four[1] + four[3]);
    }
  }

  template <class T>
  static Floats widened(const char* from) {
    T values[kLanes];
    std::memcpy(values, from, sizeof values);
    return Four{static_cast<float>(values[0]), static_cast<float>(values[1]), static_cast<float>(values[2]),
                static_cast<float>(values[3])};
  }
  static Floats half(const char* from) { return widened<c10::Half>(from); }
  static Floats bfloat16(const char* from) { return widened<c10::BFloat16>(from); }
  static Floats int8(const char* from) { return widened<int8_t>(from); }
  static Floats float8(const char* from) { return widened<c10::Float8_e4m3fn>(from); }
};

}  // namespace

const ScoreKernel* score_base(KeyType type) { return float_kernel<Base>(type); }

}  // namespace opwright::sparse
