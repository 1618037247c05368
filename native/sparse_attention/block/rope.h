// native/sparse_attention/block/rope.h
// Rotary positions of 64 columns whose pairs are interleaved: even elements first, then odd ones,
//
//   y = x' cos + [-second half, first half] of x' sin      in float32, rounded once
#pragma once

#include <c10/util/BFloat16.h>

namespace opwright::sparse {

// `out` may be `in`.
void rope(const c10::BFloat16* in, const c10::BFloat16* sin, const c10::BFloat16* cos, c10::BFloat16* out);

}  // namespace opwright::sparse
