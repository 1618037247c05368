// native/ascendc/kernel/cube/sparse.h
// LoadDataWithSparse and MmadWithSparse: a B of which each group of 4 rows has at most 2 numbers, stored as those 2
// with their places. Source: asc-devkit, docs/zh/api, MmadWithSparse (the table that selects elements of A).
#pragma once

#include <algorithm>

#include "cube/load_data.h"
#include "cube/mmad.h"

namespace AscendC {
namespace machine {

inline constexpr uint32_t kIndexFractal = kFractal / 4;  // bytes: 2 bits for each byte of B

// The places of the numbers in L0B, which the cube core keeps in a memory of its own: a byte for 4 bytes of L0B.
OPWRIGHT_INLINE uint8_t* sparse_places() {
  constexpr uint64_t kKey = uint64_t{0x5350} << 32;
  return static_cast<uint8_t*>(
      shared_memory(kKey | core().block, core().memory[static_cast<size_t>(Memory::kL0B)].bytes / 4));
}

// The row of B in which number `step` of a column stands. The first of a pair counts from the first row of its group of
// four, the second from the row behind it, and it is never before the first.
constexpr uint32_t sparse_row(uint32_t step, uint32_t place, uint32_t place_before) {
  return step / 2 * 4 + (step % 2 == 0 ? place : std::max(place + 1, place_before));
}

// B of L0B, k / 2 rows, as the k rows that it stands for. `places` are those of its first byte.
inline void unpack_sparse(const int8_t* data, const uint8_t* places, uint32_t n, uint32_t k, int32_t* panels) {
  constexpr uint32_t c0 = kC0<int8_t>;
  const uint32_t n_fractals = ceil_div(n, kFractalRows);
  std::fill_n(panels, panels_size(k, n), 0);
  for (uint32_t fractal = 0; fractal < n_fractals; ++fractal) {
    for (uint32_t step = 0; step < ceil_div(k, 2); ++step) {
      const size_t from = (size_t{step / c0} * n_fractals + fractal) * kFractalRows * c0 + step % c0;
      for (uint32_t column = 0; column < kPanel; ++column) {
        const size_t at = from + size_t{column} * c0;
        const auto place = [&](size_t of) { return places[of / 4] >> of % 4 * 2 & 3u; };
        const uint32_t row = sparse_row(step, place(at), step % 2 == 0 ? 0 : place(at - 1));
        if (row < k) panels[(size_t{fractal} * k + row) * kPanel + column] += data[at];
      }
    }
  }
}

}  // namespace machine

template <class T, class U>
OPWRIGHT_INLINE void LoadDataWithSparse(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<U>& idx,
                                        const LoadData2DParams& loadDataParam) {
  using namespace machine;
  static_assert(std::is_same_v<PrimT<T>, int8_t> && std::is_same_v<PrimT<U>, uint8_t>,
                "LoadDataWithSparse: dst and src are int8_t, idx is uint8_t");
  demand("LoadDataWithSparse", "dst", dst, Memory::kL0B, "B2");
  demand("LoadDataWithSparse", "src", src, Memory::kL1, "A1, B1");
  demand("LoadDataWithSparse", "idx", idx, Memory::kL1, "A1, B1");
  if (loadDataParam.repeatTimes == 0) return;
  const size_t first = loadDataParam.startIndex;
  const size_t count = loadDataParam.repeatTimes;
  const auto* from = reinterpret_cast<const uint8_t*>(src.data()) + first * kFractal;
  const auto* index = idx.data() + first * kIndexFractal;
  const Region read = {from, static_cast<uint32_t>(count * kFractal), 1, 0, 1, 0, src.buffer()};
  const Region read_index = {index, static_cast<uint32_t>(count * kIndexFractal), 1, 0, 1, 0, idx.buffer()};
  check_local("LoadDataWithSparse", "src", read.base, read.bytes);
  check_local("LoadDataWithSparse", "idx", read_index.base, read_index.bytes);
  const Region written = local_region("LoadDataWithSparse", "dst", dst, count * kFractal);
  Instruction instruction(Pipe::kMte1, "LoadDataWithSparse");
  instruction.aligned("dst", dst.data(), kFractal);
  instruction.aligned("src", src.data(), 32);
  instruction.aligned("idx", idx.data(), 32);
  instruction.reads("src", read);
  instruction.reads("idx", read_index);
  instruction.writes("dst", written);
  std::memcpy(dst.data(), from, read.bytes);
  const auto offset = reinterpret_cast<const uint8_t*>(dst.data()) - local_address(Memory::kL0B, 0);
  std::memcpy(sparse_places() + offset / 4, index, read_index.bytes);
}

template <class T, class U>
OPWRIGHT_INLINE void MmadWithSparse(const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<U>& filter,
                                    const MmadParams& mmadParams) {
  using namespace machine;
  static_assert(std::is_same_v<PrimT<U>, int8_t>, "MmadWithSparse: fm and filter are int8_t");
  check_mmad(dst, fm, filter, mmadParams);
  if (mmadParams.kDirectionAlign) refuse("MmadWithSparse", "kDirectionAlign is true; allowed: false");
  const size_t stored = size_t{round_up(mmadParams.n, 16)} * round_up(ceil_div(mmadParams.k, 2), kC0<int8_t>);
  run_mmad("MmadWithSparse", dst, fm, filter, stored, mmadParams, [&](const int32_t* bias, InitialResult initial) {
    const int8_t* const right = filter.data();
    const uint8_t* const places =
        sparse_places() + (reinterpret_cast<const uint8_t*>(right) - local_address(Memory::kL0B, 0)) / 4;
    multiply_fractals(fm.data(), bias, dst.data(), mmadParams, initial,
                      [=](uint32_t n, uint32_t k, int32_t* panels) { unpack_sparse(right, places, n, k, panels); });
  });
}

}  // namespace AscendC
