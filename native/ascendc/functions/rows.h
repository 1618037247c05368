// native/ascendc/functions/rows.h
// Rows of matrices as floats.
#pragma once

#include <vector>

#include "advanced/softmax.h"
#include "functions/floats.h"

namespace AscendC::machine::advanced {

inline constexpr uint32_t kFractalWidth = 16;

// Calls body(start of the run in memory, first column, columns) for the runs that a row consists of.
template <class Body>
void each_run(const Rows& rows, uint32_t all_rows, uint32_t row, uint32_t columns, Body body) {
  if (!rows.fractals) {
    body(size_t{row} * rows.stride, 0u, columns);
    return;
  }
  for (uint32_t column = 0; column < columns; column += kFractalWidth) {
    body((size_t{column} * all_rows) + size_t{row} * kFractalWidth, column, std::min(kFractalWidth, columns - column));
  }
}

inline void read_row(const Rows& rows, uint32_t all_rows, uint32_t row, uint32_t columns, float* to) {
  each_run(rows, all_rows, row, columns, [&](size_t start, uint32_t column, uint32_t count) {
    const float* from = floats_of(rows.run, start, count, to + column);
    if (from != to + column) std::copy_n(from, count, to + column);
  });
}
inline void write_row(const Rows& rows, uint32_t all_rows, uint32_t row, uint32_t columns, const float* from) {
  each_run(rows, all_rows, row, columns,
           [&](size_t start, uint32_t column, uint32_t count) { put_floats(rows.run, start, count, from + column); });
}

inline float read_one(const Run& run, size_t index) {
  float buffer;
  return *floats_of(run, index, 1, &buffer);
}
inline void fill(const Run& run, size_t start, uint32_t count, float value) {
  float values[32 / 2];  // a block of 32 bytes of 16-bit elements
  std::fill_n(values, count, value);
  put_floats(run, start, count, values);
}
inline uint32_t block_of(const Run& run) { return run.number == Number::kFloat ? 8 : 16; }

// Sums in the way that loses least: eight partial sums over the row, in double precision.
inline float sum_of(const float* values, uint32_t count) {
  double sums[8] = {};
  uint32_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (uint32_t lane = 0; lane < 8; ++lane) sums[lane] += static_cast<double>(values[i + lane]);
  }
  for (; i < count; ++i) sums[0] += static_cast<double>(values[i]);
  for (uint32_t lane = 1; lane < 8; ++lane) sums[0] += sums[lane];
  return static_cast<float>(sums[0]);
}

}  // namespace AscendC::machine::advanced
