// native/sparse_attention/block/norm.h
// Normalisations of one row, in float32, rounded once.
#pragma once

#include <c10/util/BFloat16.h>

#include <cstdint>

namespace opwright::sparse {

// x / sqrt(mean(x * x) + epsilon) * gamma; `out` may be `in`.
void rms_norm(const c10::BFloat16* in, const c10::BFloat16* gamma, int64_t columns, float epsilon, c10::BFloat16* out);

// (x - mean) / sqrt(variance + epsilon) * gamma + beta, with the biased variance.
void layer_norm(const float* in, const c10::BFloat16* gamma, const c10::BFloat16* beta, int64_t columns, float epsilon,
                c10::BFloat16* out);

}  // namespace opwright::sparse
