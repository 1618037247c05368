// native/ascendc/kernel/cube/multiply.h
// Products of small matrices: C[m, n] += A[m, k] * B[k, n], with B in panels of 16 columns.
//
// Every product is rounded to the accumulator's type before it is added, in the order of k, in one accumulator
// per element: a result does not depend on how a caller cuts m and n.
#pragma once

#include <cstddef>
#include <cstdint>

namespace AscendC::machine {

inline constexpr uint32_t kPanel = 16;  // columns of B that lie together

inline constexpr size_t panels_size(uint32_t k, uint32_t n) {
  return static_cast<size_t>((n + kPanel - 1) / kPanel) * kPanel * k;
}

// Where element (row, column) of B lies among the panels.
inline constexpr size_t panel_index(uint32_t k, uint32_t row, uint32_t column) {
  return (static_cast<size_t>(column / kPanel) * k + row) * kPanel + column % kPanel;
}

// Acc is float or int32_t; `Rows` rows of A at once keep `Rows` x 16 accumulators in registers.
template <uint32_t Rows, typename Acc>
inline void multiply_rows(const Acc* a, size_t a_stride, const Acc* panel, uint32_t k, Acc* c, size_t c_stride,
                          uint32_t columns) {
  using Vector [[gnu::vector_size(32)]] = Acc;
  Vector sums[Rows][2];
  for (uint32_t row = 0; row < Rows; ++row) {
    for (uint32_t half = 0; half < 2; ++half) {
      for (uint32_t lane = 0; lane < 8; ++lane) {
        const uint32_t column = half * 8 + lane;
        sums[row][half][lane] = column < columns ? c[row * c_stride + column] : Acc{};
      }
    }
  }
  for (uint32_t step = 0; step < k; ++step) {
    Vector low;
    Vector high;
    __builtin_memcpy(&low, panel + static_cast<size_t>(step) * kPanel, sizeof(low));
    __builtin_memcpy(&high, panel + static_cast<size_t>(step) * kPanel + 8, sizeof(high));
#pragma GCC unroll 8
    for (uint32_t row = 0; row < Rows; ++row) {
      const Acc factor = a[row * a_stride + step];
      sums[row][0] += factor * low;
      sums[row][1] += factor * high;
    }
  }
  for (uint32_t row = 0; row < Rows; ++row) {
    for (uint32_t column = 0; column < columns; ++column) {
      c[row * c_stride + column] = sums[row][column / 8][column % 8];
    }
  }
}

template <typename Acc>
inline void multiply(const Acc* a, size_t a_stride, const Acc* panels, Acc* c, size_t c_stride, uint32_t m, uint32_t n,
                     uint32_t k) {
  constexpr uint32_t kRows = 4;
  for (uint32_t column = 0; column < n; column += kPanel) {
    const Acc* panel = panels + static_cast<size_t>(column) * k;
    const uint32_t columns = n - column < kPanel ? n - column : kPanel;
    uint32_t row = 0;
    for (; row + kRows <= m; row += kRows) {
      multiply_rows<kRows>(a + row * a_stride, a_stride, panel, k, c + row * c_stride + column, c_stride, columns);
    }
    for (; row < m; ++row) {
      multiply_rows<1>(a + row * a_stride, a_stride, panel, k, c + row * c_stride + column, c_stride, columns);
    }
  }
}

}  // namespace AscendC::machine
