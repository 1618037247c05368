// native/ascendc/kernel/cube/load_data.h
// LoadData in two dimensions and LoadDataWithTranspose: fractals from L1 or global memory to L0A, L0B or L1.
#pragma once

#include "core/global_tensor.h"
#include "cube/fractal.h"
#include "cube/params.h"
#include "cube/use.h"

namespace AscendC {
namespace machine {

struct FractalMove {
  const uint8_t* src;
  uint8_t* dst;
  int64_t src_stride;  // bytes from one to the next
  int64_t dst_stride;
  uint32_t repeats;
};

inline FractalMove fractal_move(const void* src, void* dst, const LoadData2DParams& params) {
  const int64_t stride = int64_t{params.srcStride} * kFractal * (params.addrMode == 0 ? 1 : -1);
  return {static_cast<const uint8_t*>(src) + int64_t{params.startIndex} * kFractal, static_cast<uint8_t*>(dst), stride,
          (int64_t{params.dstGap} + 1) * kFractal, params.repeatTimes};
}

// The lowest address and the bytes that `count` runs of `bytes`, `stride` apart, lie in.
struct Extent {
  const uint8_t* first;
  uint64_t bytes;
};
inline Extent extent_of(const uint8_t* base, int64_t stride, uint32_t count, uint32_t bytes) {
  const int64_t reach = stride * (int64_t{count} - 1);
  return {reach < 0 ? base + reach : base, static_cast<uint64_t>(reach < 0 ? -reach : reach) + bytes};
}

template <class T>
OPWRIGHT_INLINE void transpose_square(const T* src, T* dst, uint32_t side) {
  for (uint32_t row = 0; row < side; ++row) {
    for (uint32_t column = 0; column < side; ++column) dst[column * side + row] = src[row * side + column];
  }
}

template <class T>
OPWRIGHT_INLINE void move_fractals(const FractalMove& move, bool transpose, Instruction& instruction) {
  instruction.reads("src", {move.src, kFractal, 1, 0, move.repeats, move.src_stride});
  instruction.writes("dst", {move.dst, kFractal, 1, 0, move.repeats, move.dst_stride});
  for (uint32_t repeat = 0; repeat < move.repeats; ++repeat) {
    const uint8_t* src = move.src + repeat * move.src_stride;
    uint8_t* dst = move.dst + repeat * move.dst_stride;
    if (transpose) {
      uint16_t square[kC0<uint16_t> * kC0<uint16_t>];
      std::memcpy(square, src, kFractal);
      transpose_square(square, reinterpret_cast<uint16_t*>(dst), kC0<uint16_t>);
    } else {
      std::memcpy(dst, src, kFractal);
    }
  }
}

// L0A, L0B, and how strictly an address there must be aligned.
template <class T>
OPWRIGHT_INLINE void demand_load_target(const char* api, const LocalTensor<T>& dst, bool l1_too) {
  const Memory memory = memory_of(dst.position());
  if (memory == Memory::kL0A || memory == Memory::kL0B || (l1_too && memory == Memory::kL1)) return;
  refuse(api, "dst is at TPosition::", name_of(dst.position()), "; allowed: A2, B2", l1_too ? ", A1, B1" : "");
}

}  // namespace machine

template <class T>
OPWRIGHT_INLINE void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParams& params) {
  using namespace machine;
  constexpr bool kHalfWords = kBitsOf<PrimT<T>> == 16;
  demand("LoadData", "src", src, Memory::kL1, "A1, B1");
  demand_load_target("LoadData", dst, false);
  if (params.ifTranspose && !kHalfWords) {
    refuse("LoadData", "ifTranspose with elements of ", kBitsOf<PrimT<T>>, " bits; allowed: 16 bits. ",
           "LoadDataWithTranspose does the others");
  }
  if (params.repeatTimes == 0) return;
  const FractalMove move = fractal_move(src.data(), dst.data(), params);
  const Extent from = extent_of(move.src, move.src_stride, move.repeats, kFractal);
  const Extent to = extent_of(move.dst, move.dst_stride, move.repeats, kFractal);
  check_local("LoadData", "src", from.first, from.bytes);
  check_local("LoadData", "dst", to.first, to.bytes);
  Instruction instruction(Pipe::kMte1, "LoadData");
  instruction.aligned("src", src.data(), 32);
  instruction.aligned("dst", dst.data(), kFractal);
  move_fractals<PrimT<T>>(move, params.ifTranspose, instruction);
}

template <class T>
OPWRIGHT_INLINE void LoadData(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const LoadData2DParams& params) {
  using namespace machine;
  demand_load_target("LoadData", dst, true);
  if (params.ifTranspose) {
    refuse("LoadData", "ifTranspose from global memory; allowed: from L1 (A1, B1) only");
  }
  if (params.repeatTimes == 0) return;
  const FractalMove move = fractal_move(src.data(), dst.data(), params);
  const Extent from = extent_of(move.src, move.src_stride, move.repeats, kFractal);
  const Extent to = extent_of(move.dst, move.dst_stride, move.repeats, kFractal);
  check_global("LoadData", "src", from.first, from.bytes);
  check_local("LoadData", "dst", to.first, to.bytes);
  Instruction instruction(Pipe::kMte2, "LoadData");
  instruction.aligned("dst", dst.data(), memory_of(dst.position()) == Memory::kL1 ? 32 : kFractal);
  move_fractals<PrimT<T>>(move, false, instruction);
}

namespace machine {

// The square that LoadDataWithTranspose turns: fractals that follow each other in memory. 8-bit fractals of 16 x 32 lie
// one below the other, 32-bit ones of 16 x 8 side by side; so do those of the result.
template <class T>
struct Square {
  static constexpr uint32_t kSide = sizeof(T) == 1 ? 32 : 16;
  static constexpr uint32_t kFractals = sizeof(T) == 2 ? 1 : 2;
  static constexpr uint32_t kElements = kSide * kSide;
  // Which element of the fractals is (row, column) of the square; `distance` elements from fractal to fractal.
  static constexpr uint32_t index(uint32_t row, uint32_t column, uint32_t distance) {
    const uint32_t fractal = row / kFractalRows + column / kC0<T>;
    return fractal * distance + row % kFractalRows * kC0<T> + column % kC0<T>;
  }
};

template <class T>
OPWRIGHT_INLINE void turn_square(const T* src, T* dst, uint32_t fractal_distance) {
  using S = Square<T>;
  for (uint32_t row = 0; row < S::kSide; ++row) {
    for (uint32_t column = 0; column < S::kSide; ++column) {
      dst[S::index(row, column, fractal_distance)] = src[S::index(column, row, kFractal / sizeof(T))];
    }
  }
}

}  // namespace machine

template <class T>
OPWRIGHT_INLINE void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                           const LoadData2dTransposeParams& params) {
  using namespace machine;
  using E = PrimT<T>;
  constexpr const char* kApi = "LoadDataWithTranspose";
  static_assert(!std::is_same_v<E, int4b_t>,
                "LoadDataWithTranspose of int4b_t: not supported, see docs/ascend_c_instructions.md");
  demand(kApi, "src", src, Memory::kL1, "A1, B1");
  demand_load_target(kApi, dst, false);
  if (params.repeatTimes == 0) return;
  using S = Square<E>;
  const int64_t step = int64_t{params.srcStride} * S::kElements * (params.addrMode == 0 ? 1 : -1);
  const E* from = src.data() + static_cast<size_t>(params.startIndex) * S::kElements;
  const uint32_t fractal_distance = (params.dstFracGap + 1u) * kFractal / sizeof(E);
  const uint32_t repeat_distance = (params.dstGap + 1u) * kFractal / sizeof(E);
  const auto* base = reinterpret_cast<const uint8_t*>(from);
  const Extent read = extent_of(base, step * int64_t{sizeof(E)}, params.repeatTimes, S::kElements * sizeof(E));
  const uint64_t reach = uint64_t{repeat_distance} * (params.repeatTimes - 1) +
                         uint64_t{fractal_distance} * (S::kFractals - 1) + kFractal / sizeof(E);
  check_local(kApi, "src", read.first, read.bytes);
  check_local(kApi, "dst", dst.data(), reach * sizeof(E));
  Instruction instruction(Pipe::kMte1, kApi);
  instruction.aligned("src", src.data(), 32);
  instruction.aligned("dst", dst.data(), kFractal);
  instruction.reads("src", {from, S::kElements * sizeof(E), 1, 0, params.repeatTimes, step * int64_t{sizeof(E)}});
  instruction.writes("dst", {dst.data(), kFractal, S::kFractals, int64_t{fractal_distance} * int64_t{sizeof(E)},
                             params.repeatTimes, int64_t{repeat_distance} * int64_t{sizeof(E)}});
  for (uint32_t repeat = 0; repeat < params.repeatTimes; ++repeat) {
    turn_square(from + repeat * step, dst.data() + static_cast<size_t>(repeat) * repeat_distance, fractal_distance);
  }
}

}  // namespace AscendC
