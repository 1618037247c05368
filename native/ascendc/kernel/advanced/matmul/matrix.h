// native/ascendc/kernel/advanced/matmul/matrix.h
// A matrix of a Matmul in memory: where its elements lie, and how they become operands of multiply.h.
#pragma once

#include "advanced/matmul/config.h"
#include "core/global_tensor.h"
#include "cube/fractal.h"
#include "cube/hf32.h"
#include "cube/store.h"

namespace AscendC::machine {

// Rows and columns are those of the matrix in the product; `turned` says that memory holds the transpose.
template <class T>
struct Matrix {
  T* data = nullptr;
  bool global = true;
  bool turned = false;
  bool fractals = false;  // NZ
  uint32_t stride = 0;    // ND: elements from row to row of memory; NZ: rows of memory, rounded up to 16
  bool gathered = false;  // a copy in memory of the host: who made it reported what it read

  OPWRIGHT_INLINE size_t index(uint32_t row, uint32_t column, uint32_t width = kC0<T>) const {
    const uint32_t r = turned ? column : row;
    const uint32_t c = turned ? row : column;
    if (!fractals) return size_t{r} * stride + c;
    return size_t{c / width} * stride * width + size_t{r} * width + c % width;
  }
  // The elements that a block of memory lies in, from its first to its last.
  size_t reach(uint32_t rows, uint32_t columns) const {
    return rows == 0 || columns == 0 ? 0 : index(rows - 1, columns - 1) + 1;
  }
};

// Checks that the block exists and reports to the checks what is read or written of it.
template <class T>
void touch(Instruction& instruction, const char* api, const char* operand, const Matrix<T>& matrix, uint32_t row,
           uint32_t column, uint32_t rows, uint32_t columns, bool write, bool updated = false) {
  if (rows == 0 || columns == 0 || matrix.gathered) return;
  const size_t first = matrix.index(row, column);
  const size_t last = matrix.index(row + rows - 1, column + columns - 1);
  const auto* base = reinterpret_cast<const uint8_t*>(matrix.data) + bytes_of<T>(first);
  const uint64_t bytes = bytes_of<T>(last + 1) - bytes_of<T>(first);
  if (matrix.global) {
    check_global(api, operand, base, bytes);
  } else {
    check_local(api, operand, base, bytes);
  }
  if (!instruction.active()) return;
  const uint32_t lines = matrix.turned ? columns : rows;
  const uint32_t run = matrix.turned ? rows : columns;
  const Region region = matrix.fractals ? Region{base, static_cast<uint32_t>(bytes)}
                                        : Region{base, static_cast<uint32_t>(bytes_of<T>(run)), lines,
                                                 static_cast<int64_t>(bytes_of<T>(matrix.stride))};
  if (write) {
    updated ? instruction.updates(operand, region) : instruction.writes(operand, region);
  } else {
    instruction.reads(operand, region);
  }
}

// Rows of A as rows of `columns` numbers.
template <class T>
void pack_left(const Matrix<T>& matrix, uint32_t row, uint32_t column, uint32_t rows, uint32_t columns,
               Accumulator<T>* to) {
  if (matrix.turned && !matrix.fractals) {  // along memory
    for (uint32_t c = 0; c < columns; ++c) {
      for (uint32_t r = 0; r < rows; ++r) {
        to[size_t{r} * columns + c] = widened(matrix.data, matrix.index(row + r, column + c));
      }
    }
    return;
  }
  for (uint32_t r = 0; r < rows; ++r) {
    if (!matrix.fractals) {
      const size_t start = matrix.index(row + r, column);
      for (uint32_t c = 0; c < columns; ++c) to[size_t{r} * columns + c] = widened(matrix.data, start + c);
    } else {
      for (uint32_t c = 0; c < columns; ++c) {
        to[size_t{r} * columns + c] = widened(matrix.data, matrix.index(row + r, column + c));
      }
    }
  }
}

// A block of B as panels.
template <class T>
void pack_right(const Matrix<T>& matrix, uint32_t row, uint32_t column, uint32_t rows, uint32_t columns,
                Accumulator<T>* panels) {
  for (uint32_t start = 0; start < columns; start += kPanel) {
    Accumulator<T>* panel = panels + size_t{start} * rows;
    const uint32_t width = columns - start < kPanel ? columns - start : kPanel;
    if (matrix.turned && !matrix.fractals) {
      for (uint32_t c = 0; c < kPanel; ++c) {
        const size_t from = c < width ? matrix.index(row, column + start + c) : 0;
        for (uint32_t r = 0; r < rows; ++r) {
          panel[size_t{r} * kPanel + c] = c < width ? widened(matrix.data, from + r) : Accumulator<T>{};
        }
      }
      continue;
    }
    for (uint32_t r = 0; r < rows; ++r) {
      Accumulator<T>* to = panel + size_t{r} * kPanel;
      if (!matrix.fractals) {
        const size_t from = matrix.index(row + r, column + start);
        for (uint32_t c = 0; c < width; ++c) to[c] = widened(matrix.data, from + c);
      } else {
        for (uint32_t c = 0; c < width; ++c) to[c] = widened(matrix.data, matrix.index(row + r, column + start + c));
      }
      for (uint32_t c = width; c < kPanel; ++c) to[c] = Accumulator<T>{};
    }
  }
}

// Adds A * B to sums[rows, columns]. `pack_rows(row, rows, to)` writes rows of A, `pack_panels(column, columns, to)`
// columns of B as panels: of B as many as stay in the cache, of A a few at a time.
template <class Acc, class PackRows, class PackPanels>
void multiply_packed(uint32_t rows, uint32_t columns, uint32_t depth, Acc* sums, const PackRows& pack_rows,
                     const PackPanels& pack_panels) {
  constexpr uint32_t kPanelNumbers = 1u << 20;
  constexpr uint32_t kRowsAtOnce = 64;
  const uint32_t fitting = kPanelNumbers / depth / kPanel * kPanel;
  const uint32_t most = fitting < kPanel ? kPanel : fitting;
  for (uint32_t n = 0; n < columns; n += most) {
    const uint32_t width = columns - n < most ? columns - n : most;
    Acc* panels = scratch<Acc, 1>(panels_size(depth, width));
    pack_panels(n, width, panels);
    for (uint32_t m = 0; m < rows; m += kRowsAtOnce) {
      const uint32_t height = rows - m < kRowsAtOnce ? rows - m : kRowsAtOnce;
      Acc* packed = scratch<Acc, 0>(size_t{height} * depth);
      pack_rows(m, height, packed);
      multiply(packed, depth, panels, sums + size_t{m} * columns + n, columns, height, width, depth);
    }
  }
}

// ---- batches

template <class T>
T* advance(T* data, size_t elements) {
  return reinterpret_cast<T*>(reinterpret_cast<uint8_t*>(data) + bytes_of<T>(elements));
}

// The elements that a matrix of so many rows and columns takes in memory.
template <class T>
size_t size_in_memory(const Matrix<T>& matrix, uint32_t rows, uint32_t columns) {
  return matrix.fractals ? size_t{matrix.stride} * round_up(columns, kC0<T>) : size_t{rows} * matrix.stride;
}

// The sizes around a matrix that is one of many, as the tiling names them.
struct BatchSizes {
  uint32_t b, n, g, d;
};

// Moves a matrix to one of a batch: S rows of D elements each, with N and G between them as the layout says.
template <class T>
void place_batch(Matrix<T>& matrix, LayoutMode layout, uint32_t batch, uint32_t distance, uint32_t rows,
                 uint32_t columns, const BatchSizes& sizes) {
  if (!matrix.global || layout == LayoutMode::NONE || layout == LayoutMode::NORMAL) {
    if (batch == 0) return;
    const size_t step = distance != 0 ? distance : size_in_memory(matrix, rows, columns);
    matrix.data = advance(matrix.data, batch * step);
  } else if (layout == LayoutMode::BNGS1S2) {
    matrix.data = advance(matrix.data, size_t{batch} * rows * sizes.d);
    matrix.stride = sizes.d;
  } else {
    matrix.data = advance(matrix.data, size_t{batch} * sizes.d);
    matrix.stride = (layout == LayoutMode::SBNGD ? sizes.b : 1) * sizes.n * sizes.g * sizes.d;
  }
}

}  // namespace AscendC::machine
