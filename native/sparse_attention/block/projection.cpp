// native/sparse_attention/block/projection.cpp
#include "sparse_attention/block/projection.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

#include "sparse_attention/block/projection_strip.h"
#include "sparse_attention/cpu.h"

namespace opwright::sparse {

namespace {

StripKernel kernel() {
#ifdef __x86_64__
  switch (isa()) {
    case Isa::kBase:
      return strip_base;
    case Isa::kAvx2:
      return strip_avx2;
    case Isa::kAvx512:
      return strip_avx512;
    case Isa::kAvx512Bf16:
    case Isa::kAmxBf16:
      return strip_avx512_bf16;
  }
#endif
  return strip_base;
}

int64_t strips_of(const Projection& projection) { return (projection.weight.columns + kStrip - 1) / kStrip; }

void store(const Projection& projection, int64_t rows, int64_t column, int64_t columns, const float* strip) {
  for (int64_t row = 0; row < rows; ++row, strip += kStrip) {
    const int64_t at = row * projection.out_stride + column;
    if (projection.out == nullptr) {
      std::copy_n(strip, columns, projection.wide + at);
    } else {
      for (int64_t i = 0; i < columns; ++i) projection.out[at + i] = strip[i];
    }
  }
}

void compute(StripKernel kernel, int64_t rows, const Projection& projection, int64_t index, float* scratch) {
  const Weight& weight = projection.weight;
  const int64_t column = index * kStrip, columns = std::min<int64_t>(kStrip, weight.columns - column);
  kernel({reinterpret_cast<const uint16_t*>(projection.x), rows, weight.depth, projection.x_stride,
          reinterpret_cast<const uint16_t*>(weight.values + column / kPanel * weight.panel_stride), weight.row_stride,
          weight.panel_stride, static_cast<int>(columns / kPanel), scratch});
  store(projection, rows, column, columns, scratch);
}

}  // namespace

Weight Weight::nz(const c10::BFloat16* values, int64_t depth, int64_t columns) {
  return {values, depth, columns, kPanel, depth * kPanel};
}

Weight Weight::plain(const c10::BFloat16* values, int64_t depth, int64_t columns) {
  return {values, depth, columns, columns, kPanel};
}

void project(int64_t rows, c10::ArrayRef<Projection> projections) {
  std::vector<int64_t> first{0};  // strip of each projection
  for (const Projection& projection : projections) first.push_back(first.back() + strips_of(projection));
  const StripKernel strip = kernel();
  at::parallel_for(0, first.back(), 1, [&](int64_t begin, int64_t end) {
    std::vector<float> scratch(rows * kStrip);
    auto next = std::upper_bound(first.begin(), first.end(), begin);  // the end of this strip's projection
    for (int64_t i = begin; i < end; ++i) {
      while (i >= *next) ++next;
      const auto index = next - first.begin() - 1;
      compute(strip, rows, projections[index], i - first[index], scratch.data());
    }
  });
}

}  // namespace opwright::sparse
