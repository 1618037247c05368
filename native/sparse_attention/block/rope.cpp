// native/sparse_attention/block/rope.cpp
#include "sparse_attention/block/rope.h"

namespace opwright::sparse {

void rope(const c10::BFloat16* in, const c10::BFloat16* sin, const c10::BFloat16* cos, c10::BFloat16* out) {
  constexpr int kHalf = 32;
  float even[kHalf], odd[kHalf];
  for (int i = 0; i < kHalf; ++i) {
    even[i] = in[2 * i];
    odd[i] = in[2 * i + 1];
  }
  for (int i = 0; i < kHalf; ++i) {
    const float first = even[i] * float(cos[i]) - odd[i] * float(sin[i]);
    const float second = odd[i] * float(cos[kHalf + i]) + even[i] * float(sin[kHalf + i]);
    out[i] = first;
    out[kHalf + i] = second;
  }
}

}  // namespace opwright::sparse
