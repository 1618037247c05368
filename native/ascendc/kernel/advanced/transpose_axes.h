// native/ascendc/kernel/advanced/transpose_axes.h
// Transpose with a tiling: axes of attention heads exchanged, split and merged, between ND and NZ, and of a matrix.
#pragma once

#include "advanced/operands.h"
#include "advanced/tilings.h"
#include "vector/params.h"

namespace AscendC {
namespace machine::advanced {

inline constexpr uint64_t kFractal = 16;  // rows and columns of a fractal of NZ

// The place of an element in the `index`th matrix in NZ.
inline uint64_t place_in_nz(uint64_t index, uint64_t rows, uint64_t columns, uint64_t row, uint64_t column) {
  return index * rows * columns + column / kFractal * rows * kFractal + row * kFractal + column % kFractal;
}

// B, N heads, S, and the D elements of a head.
struct Heads {
  uint64_t b, n, s, d;

  uint64_t elements() const { return b * n * s * d; }
  bool reads_merged(TransposeType type) const {
    return type == TransposeType::TRANSPOSE_NZ2NZ_012_WITH_N || type == TransposeType::TRANSPOSE_NZ2ND_012_WITH_N;
  }
  uint64_t source(TransposeType type, uint64_t ib, uint64_t in, uint64_t is, uint64_t id) const {
    return reads_merged(type) ? place_in_nz(ib, s, n * d, is, in * d + id) : place_in_nz(ib * n + in, s, d, is, id);
  }
  uint64_t target(TransposeType type, uint64_t ib, uint64_t in, uint64_t is, uint64_t id) const {
    switch (type) {
      case TransposeType::TRANSPOSE_NZ2NZ_0213:
        return place_in_nz(ib * s + is, n, d, in, id);
      case TransposeType::TRANSPOSE_NZ2NZ_012_WITH_N:
        return place_in_nz(ib * n + in, s, d, is, id);
      case TransposeType::TRANSPOSE_NZ2ND_012_WITH_N:
        return ((ib * n + in) * s + is) * d + id;
      case TransposeType::TRANSPOSE_NZ2NZ_012_WITHOUT_N:
        return place_in_nz(ib, s, n * d, is, in * d + id);
      default:  // TRANSPOSE_NZ2ND_0213, and TRANSPOSE_NZ2ND_012_WITHOUT_N, which is the same in memory
        return ((ib * s + is) * n + in) * d + id;
    }
  }
};

}  // namespace machine::advanced

template <typename T>
OPWRIGHT_INLINE void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, TransposeType transposeType,
                               ConfusionTransposeTiling& tiling) {
  using namespace machine::advanced;
  static_assert(sizeof(PrimT<T>) == 2 || sizeof(PrimT<T>) == 4, "Transpose with a tiling: elements of 2 or 4 bytes");
  if (transposeType < TransposeType::TRANSPOSE_NZ2ND_0213 || transposeType > TransposeType::TRANSPOSE_ND2ND_ONLY ||
      tiling.transposeType != static_cast<uint32_t>(transposeType)) {
    machine::refuse("Transpose", "type ", static_cast<uint32_t>(transposeType), " with the tiling of type ",
                    tiling.transposeType, "; allowed: 1 to 7, the same in both");
  }
  Call call("Transpose");
  if (transposeType == TransposeType::TRANSPOSE_ND2ND_ONLY) {
    const uint64_t rows = tiling.shape0;
    const uint64_t columns = tiling.shape1;
    if (tiling.dims != 2 || rows % kFractal != 0 || columns % kFractal != 0) {
      machine::refuse("Transpose", rows, " x ", columns, " with ", tiling.dims,
                      " axes; allowed: two axes, both in sixteens");
    }
    call.in("src", src, rows * columns);
    call.out("dst", dst, rows * columns);
    for (uint64_t row = 0; row < rows; ++row) {
      for (uint64_t column = 0; column < columns; ++column) {
        dst.data()[column * rows + row] = src.data()[row * columns + column];
      }
    }
    return;
  }
  const Heads heads{tiling.shape0, tiling.shape1, tiling.shape2, tiling.shape3};
  const bool rows_of_heads = transposeType == TransposeType::TRANSPOSE_NZ2NZ_0213;
  if (tiling.dims != 4 || heads.s % kFractal != 0 || heads.d % kFractal != 0 ||
      (rows_of_heads && heads.n % kFractal != 0)) {
    machine::refuse("Transpose", "B ", heads.b, ", N ", heads.n, ", S ", heads.s, ", H/N ", heads.d, " with ",
                    tiling.dims, " axes; allowed: four axes, S and H/N in sixteens, for type 2 also N");
  }
  call.in("src", src, heads.elements());
  call.out("dst", dst, heads.elements());
  for (uint64_t b = 0; b < heads.b; ++b) {
    for (uint64_t n = 0; n < heads.n; ++n) {
      for (uint64_t s = 0; s < heads.s; ++s) {
        for (uint64_t d = 0; d < heads.d; ++d) {
          dst.data()[heads.target(transposeType, b, n, s, d)] = src.data()[heads.source(transposeType, b, n, s, d)];
        }
      }
    }
  }
}
template <typename T>
OPWRIGHT_INLINE void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,
                               TransposeType transposeType, ConfusionTransposeTiling& tiling) {
  Transpose<T>(dst, src, transposeType, tiling);
}

}  // namespace AscendC
