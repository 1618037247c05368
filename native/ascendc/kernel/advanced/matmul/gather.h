// native/ascendc/kernel/advanced/matmul/gather.h
// Matrices that a Matmul does not find in memory as they are: functions of the kernel move them, or B is sparse. They
// are copied as a whole before the first block is computed.
#pragma once

#include <vector>

#include "advanced/matmul/matrix.h"
#include "core/pipe.h"
#include "cube/sparse.h"

namespace AscendC::machine {

template <class Type, class = void>
inline constexpr bool is_sparse = false;
template <class Type>
inline constexpr bool is_sparse<Type, std::void_t<decltype(Type::indexPosition)>> = true;

// Rows and columns of a matrix in the product, and those that are moved at a time.
struct GatherSizes {
  uint32_t rows, columns, rows_at_once, columns_at_once;
};

// Has `copy` move the matrix through L1, block by block, where each lies as NZ; `turned` says that memory holds the
// transpose.
template <class T, auto copy>
Matrix<T> gather(std::vector<T>& gathered, const T* data, bool turned, const GatherSizes& sizes, uint64_t info,
                 uint64_t user_data) {
  const Matrix<T> result{gathered.data(), false, false, false, sizes.columns, true};
  if (!gathered.empty()) return result;
  gathered.resize(size_t{sizes.rows} * sizes.columns);
  const auto least = [](uint32_t a, uint32_t b) { return a < b ? a : b; };
  const auto index = static_cast<size_t>(Memory::kL1);
  const uint32_t used = core().used[index];
  for (uint32_t row = 0; row < sizes.rows; row += sizes.rows_at_once) {
    for (uint32_t column = 0; column < sizes.columns; column += sizes.columns_at_once) {
      const uint32_t rows = least(sizes.rows_at_once, sizes.rows - row);
      const uint32_t columns = least(sizes.columns_at_once, sizes.columns - column);
      const uint32_t stride = round_up(turned ? columns : rows, kFractalRows);
      const auto bytes = static_cast<uint32_t>(bytes_of<T>(size_t{stride} * round_up(turned ? rows : columns, kC0<T>)));
      uint8_t* const place = take_local("Matmul", Memory::kL1, bytes);
      copy(LocalTensor<int8_t>::make(place, bytes, TPosition::A1), data, static_cast<int>(row / sizes.rows_at_once),
           static_cast<int>(column / sizes.columns_at_once), static_cast<int>(rows), static_cast<int>(columns), info,
           user_data);
      const Matrix<T> block{reinterpret_cast<T*>(place), false, turned, true, stride};
      for (uint32_t r = 0; r < rows; ++r) {
        for (uint32_t c = 0; c < columns; ++c) {
          gathered[size_t{row + r} * sizes.columns + column + c] = block.data[block.index(r, c)];
        }
      }
      core().used[index] = used;
    }
  }
  return {gathered.data(), false, false, false, sizes.columns, true};
}

// A sparse B as the `rows` rows that it stands for. `index_rows` are the rows of its fractals of places.
template <class T>
Matrix<T> expand(std::vector<T>& expanded, const Matrix<T>& stored, const uint8_t* index, uint32_t index_rows,
                 uint32_t rows, uint32_t columns) {
  static_assert(sizeof(T) == 1, "Matmul: a sparse B is int8_t");
  if (expanded.empty()) {
    constexpr uint32_t kBytes = 8;  // of a row of a fractal of places
    const uint32_t last = ceil_div(rows, 8) - 1;
    const size_t index_bytes = (size_t{last / kBytes} * index_rows + columns) * kBytes;
    check_global("Matmul", "index", index, index_bytes);
    Instruction instruction(Pipe::kMte2, "Matmul");
    touch(instruction, "Matmul", "B", stored, 0, 0, rows / 2, columns, false);
    instruction.reads("index", {index, static_cast<uint32_t>(index_bytes)});
    expanded.assign(size_t{rows} * columns, T{});
    for (uint32_t column = 0; column < columns; ++column) {
      const auto place = [&](uint32_t step) {
        const uint32_t byte = step / 4;
        return index[(size_t{byte / kBytes} * index_rows + column) * kBytes + byte % kBytes] >> step % 4 * 2 & 3u;
      };
      for (uint32_t step = 0; step < rows / 2; ++step) {
        const uint32_t row = sparse_row(step, place(step), step % 2 == 0 ? 0 : place(step - 1));
        if (row < rows) {
          T& to = expanded[size_t{row} * columns + column];
          to = static_cast<T>(to + stored.data[stored.index(step, column)]);
        }
      }
    }
  }
  return {expanded.data(), false, false, false, columns, true};
}

}  // namespace AscendC::machine
