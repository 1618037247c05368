// native/sparse_attention/block/projection_strip.h
// The inner kernel of projections, one for each instruction set: all rows times up to 64 columns.
// Includes nothing with inline functions: the files that implement it are compiled for different CPUs.
#pragma once

#include <stdint.h>

namespace opwright::sparse {

constexpr int kPanel = 16;       // columns
constexpr int kStripPanels = 4;  // panels of a strip at most
constexpr int kStrip = kPanel * kStripPanels;

struct Strip {
  const uint16_t* x;  // bfloat16 [rows, depth]
  int64_t rows, depth, x_stride;
  const uint16_t* weight;  // bfloat16, `panels` panels of [depth, 16]
  int64_t row_stride, panel_stride;
  int panels;
  float* out;  // [rows, kStrip], written
};

using StripKernel = void (*)(const Strip& strip);

void strip_base(const Strip& strip);
void strip_avx2(const Strip& strip);
void strip_avx512(const Strip& strip);
void strip_avx512_bf16(const Strip& strip);

}  // namespace opwright::sparse
