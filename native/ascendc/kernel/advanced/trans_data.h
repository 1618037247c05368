// native/ascendc/kernel/advanced/trans_data.h
// TransData: between NCDHW and the formats of the cube for images with a depth.
#pragma once

#include <type_traits>
#include <utility>

#include "advanced/operands.h"
#include "core/layout.h"
#include "core/position.h"

namespace AscendC {

struct TransDataConfig {
  DataFormat srcFormat;
  DataFormat dstFormat;
};
template <typename T, typename U>
struct TransDataParams {
  T srcLayout;
  U dstLayout;
};

namespace machine::advanced {

inline constexpr int64_t kC0 = 16;  // channels of a block; and N0, images of a block

// The sizes of NCDHW. Rows of H x W are padded to 32 bytes.
struct Volume {
  int64_t n, c, d, h, w;

  int64_t area() const { return h * w; }
  int64_t row() const { return (area() + kC0 - 1) / kC0 * kC0; }
  int64_t c1() const { return (c + kC0 - 1) / kC0; }
  int64_t n1() const { return (n + kC0 - 1) / kC0; }
};

template <class LayoutType>
Volume volume_of(const LayoutType& layout) {
  static_assert(std::tuple_size_v<typename LayoutType::shape> == 5, "TransData: the shape of NCDHW has five axes");
  return std::apply([](auto... size) { return Volume{static_cast<int64_t>(size)...}; }, layout.GetShape());
}

// Calls `move` with the places of each element in the blocked format and in NCDHW; the second is -1 in padding.
template <class Move>
void walk_blocks(const Volume& v, DataFormat format, const Move& move) {
  const bool fractal = format == DataFormat::FRACTAL_Z_3D;
  const int64_t images = fractal ? v.n1() * kC0 : v.n;
  int64_t place = 0;
  const auto element = [&](int64_t n, int64_t c, int64_t d, int64_t at) {
    move(place++, n < v.n && c < v.c ? ((n * v.c + c) * v.d + d) * v.row() + at : -1);
  };
  if (fractal) {  // D, C1, H, W, N1, N0, C0
    for (int64_t d = 0; d < v.d; ++d) {
      for (int64_t c1 = 0; c1 < v.c1(); ++c1) {
        for (int64_t at = 0; at < v.area(); ++at) {
          for (int64_t n = 0; n < images; ++n) {
            for (int64_t c0 = 0; c0 < kC0; ++c0) element(n, c1 * kC0 + c0, d, at);
          }
        }
      }
    }
    return;
  }
  for (int64_t n = 0; n < images; ++n) {  // N, D, C1, H, W, C0
    for (int64_t d = 0; d < v.d; ++d) {
      for (int64_t c1 = 0; c1 < v.c1(); ++c1) {
        for (int64_t at = 0; at < v.area(); ++at) {
          for (int64_t c0 = 0; c0 < kC0; ++c0) element(n, c1 * kC0 + c0, d, at);
        }
      }
    }
  }
}

}  // namespace machine::advanced

template <const TransDataConfig& config, typename T, typename U, typename S>
OPWRIGHT_INLINE void TransData(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
                               const TransDataParams<U, S>& params) {
  using namespace machine::advanced;
  constexpr bool kToBlocks = config.srcFormat == DataFormat::NCDHW;
  constexpr DataFormat kBlocked = kToBlocks ? config.dstFormat : config.srcFormat;
  static_assert((kToBlocks || config.dstFormat == DataFormat::NCDHW) &&
                    (kBlocked == DataFormat::NDC1HWC0 || kBlocked == DataFormat::FRACTAL_Z_3D),
                "TransData: from or to NCDHW, to or from NDC1HWC0 or FRACTAL_Z_3D");
  static_assert(sizeof(T) == 2, "TransData: int16_t, uint16_t, half or bfloat16_t");
  const Volume v = [&] {
    if constexpr (kToBlocks) {
      return volume_of(params.srcLayout);
    } else {
      return volume_of(params.dstLayout);
    }
  }();
  const int64_t rows = v.n * v.c * v.d * v.row();
  const int64_t blocks = (kBlocked == DataFormat::FRACTAL_Z_3D ? v.n1() * kC0 : v.n) * v.d * v.c1() * v.area() * kC0;
  Call call("TransData");
  call.in("srcTensor", srcTensor, kToBlocks ? rows : blocks);
  call.out("dstTensor", dstTensor, kToBlocks ? blocks : rows);
  const T* const src = srcTensor.data();
  T* const dst = dstTensor.data();
  walk_blocks(v, kBlocked, [&](int64_t block, int64_t row) {
    if constexpr (kToBlocks) {
      dst[block] = row < 0 ? T() : src[row];
    } else if (row >= 0) {
      dst[row] = src[block];
    }
  });
}
template <const TransDataConfig& config, typename T, typename U, typename S>
OPWRIGHT_INLINE void TransData(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
                               const LocalTensor<uint8_t>&, const TransDataParams<U, S>& params) {
  TransData<config, T, U, S>(dstTensor, srcTensor, params);
}

}  // namespace AscendC
