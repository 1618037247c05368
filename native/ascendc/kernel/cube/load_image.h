// native/ascendc/kernel/cube/load_image.h
// LoadData of convolutions (image to column) and the registers that it reads.
#pragma once

#include "cube/load_data.h"

namespace AscendC {

OPWRIGHT_INLINE void SetFmatrix(uint16_t l1H, uint16_t l1W, const uint8_t padList[4], const FmatrixMode& fmatrixMode) {
  if (fmatrixMode != FmatrixMode::FMATRIX_LEFT) {
    machine::refuse("SetFmatrix", "fmatrixMode is FMATRIX_RIGHT; allowed: FMATRIX_LEFT");
  }
  machine::Registers& registers = machine::core().registers;
  registers.load_height = l1H;
  registers.load_width = l1W;
  for (int side = 0; side < 4; ++side) registers.load_pad[side] = padList[side];
}

template <typename T>
OPWRIGHT_INLINE void SetLoadDataPaddingValue(const T padValue) {
  machine::core().registers.load_padding = machine::bits_of(padValue);
}

OPWRIGHT_INLINE void SetLoadDataRepeat(const LoadDataRepeatParam& repeatParams) {
  machine::core().registers.load_repeat = 1u << 31 | uint64_t{repeatParams.repeatStride} |
                                          uint64_t{repeatParams.repeatTime} << 16 |
                                          uint64_t{repeatParams.repeatMode} << 24;
}

OPWRIGHT_INLINE void SetLoadDataBoundary(uint32_t boundaryValue) {
  if (boundaryValue != 0) {
    machine::refuse("SetLoadDataBoundary", "boundaryValue is ", boundaryValue, "; supported: 0, all of L1");
  }
}

namespace machine {

// One LoadData of an image, with all registers looked at.
struct ImageLoad {
  uint32_t height, width, channels;
  uint32_t pad_left, pad_right, pad_top, pad_bottom;
  uint32_t stride_h, stride_w, filter_h, filter_w, dilation_h, dilation_w;
  uint32_t m_start, k_start, m_count, k_count;
  bool transpose;

  uint32_t out_width() const { return (width + pad_left + pad_right - (filter_w - 1) * dilation_w - 1) / stride_w + 1; }
  bool empty() const {
    return height == 0 || width == 0 || channels == 0 || m_count == 0 || k_count == 0 || filter_h == 0 || filter_w == 0;
  }
};

template <class T>
ImageLoad image_load(const LoadData3DParamsV2<T>& p, bool own_matrix) {
  const Registers& registers = core().registers;
  const uint8_t* pads = own_matrix ? p.padList : registers.load_pad;
  return {own_matrix ? p.l1H : registers.load_height,
          own_matrix ? p.l1W : registers.load_width,
          p.channelSize,
          pads[0],
          pads[1],
          pads[2],
          pads[3],
          p.strideH,
          p.strideW,
          p.filterH + (p.filterSizeH ? 256u : 0u),
          p.filterW + (p.filterSizeW ? 256u : 0u),
          p.dilationFilterH,
          p.dilationFilterW,
          p.mStartPt,
          p.kStartPt,
          p.mExtension,
          p.kExtension,
          p.enTranspose};
}

// Element (m, k) of the matrix that the image unfolds to: row m is an output pixel, column k a channel under a filter
// point. K runs over C1, filter rows, filter columns, C0; channels beyond the last full C0 make a narrower C0 of their
// own, in the image as in K.
template <class T>
OPWRIGHT_INLINE T unfolded(const ImageLoad& load, const T* image, T padding, uint32_t m, uint32_t k) {
  const uint32_t points = load.filter_h * load.filter_w;
  const uint32_t full = load.channels / kC0<T> * kC0<T>;  // channels in full C0s
  const bool tail = k >= full * points;
  const uint32_t c0 = tail ? load.channels - full : kC0<T>;
  const uint32_t k_here = tail ? k - full * points : k;
  const uint32_t c1 = tail ? 0 : k_here / c0 / points;
  const uint32_t point = tail ? k_here / c0 : k_here / c0 % points;
  const uint32_t out_width = load.out_width();
  const int64_t row = int64_t{m / out_width * load.stride_h} + point / load.filter_w * load.dilation_h - load.pad_top;
  const int64_t column =
      int64_t{m % out_width * load.stride_w} + point % load.filter_w * load.dilation_w - load.pad_left;
  if (row < 0 || column < 0 || row >= load.height || column >= load.width) return padding;
  const size_t plane = size_t{load.height} * load.width;
  const size_t start = tail ? full * plane : size_t{c1} * c0 * plane;
  return image[start + (static_cast<size_t>(row) * load.width + column) * c0 + k_here % c0];
}

// Where (m, k) of the loaded matrix lands. L0A, as it is: rows of fractals of 16 x C0. Turned, it is a matrix of
// k rows and m columns; L0B holds (k index m of the product) fractals whose rows are columns of B.
template <class T>
OPWRIGHT_INLINE size_t image_target(const ImageLoad& load, bool to_l0b, uint32_t m, uint32_t k) {
  constexpr uint32_t c0 = kC0<T>;
  const uint32_t fractal = kFractalRows * c0;
  if (to_l0b) {  // B[m, k]: Zn
    const uint32_t columns = ceil_div(load.k_count, kFractalRows);
    return (size_t{m / c0} * columns + k / kFractalRows) * fractal + k % kFractalRows * c0 + m % c0;
  }
  if (load.transpose) {  // A[k, m]: Zz, and its columns are rounded up to 16
    const uint32_t columns = round_up(load.m_count, kFractalRows) / c0;
    return (size_t{k / kFractalRows} * columns + m / c0) * fractal + k % kFractalRows * c0 + m % c0;
  }
  const uint32_t columns = ceil_div(load.k_count, c0);
  return (size_t{m / kFractalRows} * columns + k / c0) * fractal + m % kFractalRows * c0 + k % c0;
}

template <class T>
void load_image(const char* api, const ImageLoad& load, const T* image, T padding, T* dst, bool to_l0b) {
  const uint32_t rows = round_up(load.m_count, kFractalRows);
  const uint32_t columns = round_up(load.k_count, to_l0b || load.transpose ? kFractalRows : kC0<T>);
  const size_t plane = size_t{load.height} * load.width;
  check_local(api, "src", image, bytes_of<T>(plane * load.channels));
  check_local(api, "dst", dst, bytes_of<T>(size_t{rows} * columns));
  Instruction instruction(Pipe::kMte1, api);
  instruction.aligned("src", image, 32);
  instruction.aligned("dst", dst, kFractal);
  instruction.reads("src", {image, static_cast<uint32_t>(bytes_of<T>(plane * load.channels))});
  instruction.writes("dst", {dst, static_cast<uint32_t>(bytes_of<T>(size_t{rows} * columns))});
  const uint32_t out_height =
      (load.height + load.pad_top + load.pad_bottom - (load.filter_h - 1) * load.dilation_h - 1) / load.stride_h + 1;
  const uint32_t all_rows = out_height * load.out_width();
  const uint32_t all_columns = load.channels * load.filter_h * load.filter_w;
  for (uint32_t m = 0; m < rows; ++m) {
    for (uint32_t k = 0; k < load.k_count; ++k) {
      const bool inside = load.m_start + m < all_rows && load.k_start + k < all_columns;
      dst[image_target<T>(load, to_l0b, m, k)] =
          inside ? unfolded(load, image, padding, load.m_start + m, load.k_start + k) : T{};
    }
  }
}

}  // namespace machine

template <typename T, const IsResetLoad3dConfig& defaultConfig = IS_RESER_LOAD3D_DEFAULT_CONFIG, typename U = PrimT<T>,
          typename std::enable_if<std::is_same<PrimT<T>, U>::value, bool>::type = true>
OPWRIGHT_INLINE void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                              const LoadData3DParamsV2<U>& params) {
  using namespace machine;
  static_assert(!std::is_same_v<U, int4b_t>,
                "LoadData of images of int4b_t: not supported, see docs/ascend_c_instructions.md");
  demand("LoadData", "src", src, Memory::kL1, "A1, B1");
  demand_load_target("LoadData", dst, false);
  const bool to_l0b = memory_of(dst.position()) == Memory::kL0B;
  if (sizeof(U) == 1 && (to_l0b || params.enTranspose)) {
    refuse("LoadData", "elements of 8 bits ", to_l0b ? "to B2" : "with enTranspose", "; allowed: 16 or 32 bits");
  }
  Registers& registers = core().registers;
  if (const uint64_t repeat = registers.load_repeat; repeat != 0 && (repeat >> 16 & 0xFF) != 1) {
    refuse("LoadData", "SetLoadDataRepeat with repeatTime ", repeat >> 16 & 0xFF, "; supported: 1");
  }
  const ImageLoad load = image_load(params, defaultConfig.isSetFMatrix);
  if (load.empty()) return;
  U padding = params.padValue;
  if constexpr (!defaultConfig.isSetPadding) std::memcpy(&padding, &registers.load_padding, sizeof padding);
  load_image("LoadData", load, src.data(), padding, dst.data(), to_l0b);
}

template <typename T>
OPWRIGHT_INLINE void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                              const LoadData3DParamsV2Pro& params) {
  static constexpr IsResetLoad3dConfig kRegisters{false, false};
  const auto field = [](uint64_t config, int shift, uint64_t mask) { return config >> shift & mask; };
  LoadData3DParamsV2<PrimT<T>> full;
  full.channelSize = params.channelSize;
  full.enTranspose = params.enTranspose;
  full.filterSizeW = params.filterSizeW;
  full.filterSizeH = params.filterSizeH;
  full.kExtension = static_cast<uint16_t>(field(params.extConfig, 0, 0xFFFF));
  full.mExtension = static_cast<uint16_t>(field(params.extConfig, 16, 0xFFFF));
  full.kStartPt = static_cast<uint16_t>(field(params.extConfig, 32, 0xFFFF));
  full.mStartPt = static_cast<uint16_t>(field(params.extConfig, 48, 0xFFFF));
  full.strideW = static_cast<uint8_t>(field(params.filterConfig, 0, 0xFF));
  full.strideH = static_cast<uint8_t>(field(params.filterConfig, 8, 0xFF));
  full.filterW = static_cast<uint8_t>(field(params.filterConfig, 16, 0xFF));
  full.filterH = static_cast<uint8_t>(field(params.filterConfig, 24, 0xFF));
  full.dilationFilterW = static_cast<uint8_t>(field(params.filterConfig, 32, 0xFF));
  full.dilationFilterH = static_cast<uint8_t>(field(params.filterConfig, 40, 0xFF));
  LoadData<T, kRegisters>(dst, src, full);
}

}  // namespace AscendC
