// native/sparse_attention/block/norm.cpp
#include "sparse_attention/block/norm.h"

#include <cmath>

namespace opwright::sparse {

namespace {

constexpr int kLanes = 16;  // sums side by side, so that the compiler may use vectors

// The sum of value(i) for i < count.
template <class Value>
float sum(int64_t count, const Value& value) {
  float parts[kLanes] = {};
  const int64_t whole = count - count % kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) parts[lane] += value(i + lane);
  }
  for (int64_t i = whole; i < count; ++i) parts[i - whole] += value(i);
  float total = 0;
  for (const float part : parts) total += part;
  return total;
}

}  // namespace

void rms_norm(const c10::BFloat16* in, const c10::BFloat16* gamma, int64_t columns, float epsilon, c10::BFloat16* out) {
  const float squares = sum(columns, [&](int64_t i) { return float(in[i]) * float(in[i]); });
  const float scale = 1 / std::sqrt(squares / static_cast<float>(columns) + epsilon);
  for (int64_t i = 0; i < columns; ++i) out[i] = float(in[i]) * scale * float(gamma[i]);
}

void layer_norm(const float* in, const c10::BFloat16* gamma, const c10::BFloat16* beta, int64_t columns, float epsilon,
                c10::BFloat16* out) {
  const float count = static_cast<float>(columns);
  const float mean = sum(columns, [&](int64_t i) { return in[i]; }) / count;
  const float squares = sum(columns, [&](int64_t i) { return (in[i] - mean) * (in[i] - mean); });
  const float scale = 1 / std::sqrt(squares / count + epsilon);
  for (int64_t i = 0; i < columns; ++i) out[i] = (in[i] - mean) * scale * float(gamma[i]) + float(beta[i]);
}

}  // namespace opwright::sparse
