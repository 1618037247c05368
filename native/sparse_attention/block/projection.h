// native/sparse_attention/block/projection.h
// Products of few rows with large bfloat16 weights, which are read once, as they are: what counts is memory.
// Sums are in float32, in an order that depends neither on threads nor on the number of rows.
#pragma once

#include <c10/util/ArrayRef.h>
#include <c10/util/BFloat16.h>

#include <cstdint>

namespace opwright::sparse {

// A [depth, columns] matrix as panels of 16 columns each.
struct Weight {
  const c10::BFloat16* values;
  int64_t depth, columns;
  int64_t row_stride, panel_stride;  // elements from a row, or a panel, to the next

  static Weight nz(const c10::BFloat16* values, int64_t depth, int64_t columns);  // the bytes of FRACTAL_NZ
  static Weight plain(const c10::BFloat16* values, int64_t depth, int64_t columns);
};

// out = x weight, rounded to bfloat16, or in float32.
struct Projection {
  const c10::BFloat16* x;
  int64_t x_stride;
  Weight weight;
  c10::BFloat16* out;  // or null, and `wide` is written
  float* wide;
  int64_t out_stride;
};

// Computes all of them, of `rows` rows each.
void project(int64_t rows, c10::ArrayRef<Projection> projections);

}  // namespace opwright::sparse
