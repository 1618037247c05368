// native/ascendc/kernel/cube/params.h
// Parameters of the cube instructions: the documented names, defaults and positional orders.
#pragma once

#include <cstdint>

#include "core/types.h"

// The compiler of the device knows it without a namespace.
enum QuantMode_t {
  NoQuant = 0,
  F322F16 = 1,
  VREQ8 = 2,
  REQ8 = 3,
  VDEQF16 = 4,
  DEQF16 = 5,
  F322BF16 = 16,
  VQF322B8_PRE = 23,
  QF322B8_PRE = 24,
};

namespace AscendC {

struct LoadData2DParams {
  uint16_t startIndex = 0;  // the first fractal, in units of 512 bytes
  uint8_t repeatTimes = 0;
  uint16_t srcStride = 0;  // from the head of a fractal to the head of the next
  uint8_t sid = 0;
  uint16_t dstGap = 0;  // from the end of a fractal to the head of the next
  bool ifTranspose = false;
  uint8_t addrMode = 0;

  constexpr LoadData2DParams() = default;
  constexpr LoadData2DParams(uint16_t start, uint8_t repeats, uint16_t stride, uint8_t sid_in, uint16_t gap,
                             bool transpose, uint8_t mode)
      : startIndex(start),
        repeatTimes(repeats),
        srcStride(stride),
        sid(sid_in),
        dstGap(gap),
        ifTranspose(transpose),
        addrMode(mode) {}
};

// Of Ascend950: kernels for several chips declare it, and Atlas A2 has no LoadData that takes it (unsupported.h).
struct LoadData2DParamsV2 {
  uint32_t mStartPosition = 0;
  uint32_t kStartPosition = 0;
  uint16_t mStep = 0;
  uint16_t kStep = 0;
  int32_t srcStride = 0;
  uint16_t dstStride = 0;
  bool ifTranspose = false;
  uint8_t sid = 0;

  constexpr LoadData2DParamsV2() = default;
  constexpr LoadData2DParamsV2(uint32_t m_start, uint32_t k_start, uint16_t m_steps, uint16_t k_steps, int32_t stride,
                               uint16_t to_stride, bool transpose, uint8_t sid_in)
      : mStartPosition(m_start),
        kStartPosition(k_start),
        mStep(m_steps),
        kStep(k_steps),
        srcStride(stride),
        dstStride(to_stride),
        ifTranspose(transpose),
        sid(sid_in) {}
};

struct LoadData2dTransposeParams {
  uint16_t startIndex = 0;  // the first square, in squares
  uint8_t repeatTimes = 0;
  uint16_t srcStride = 0;   // in squares
  uint16_t dstGap = 0;      // in fractals of 512 bytes
  uint16_t dstFracGap = 0;  // in fractals, between the fractals of one square
  uint8_t addrMode = 0;

  constexpr LoadData2dTransposeParams() = default;
  constexpr LoadData2dTransposeParams(uint16_t start, uint8_t repeats, uint16_t stride, uint16_t gap, uint16_t frac_gap,
                                      uint8_t mode = 0)
      : startIndex(start), repeatTimes(repeats), srcStride(stride), dstGap(gap), dstFracGap(frac_gap), addrMode(mode) {}
};

template <typename T>
struct LoadData3DParamsV2 {
  uint8_t padList[4] = {0, 0, 0, 0};  // left, right, top, bottom
  uint16_t l1H = 0;
  uint16_t l1W = 0;
  uint16_t channelSize = 0;
  uint16_t kExtension = 0;
  uint16_t mExtension = 0;
  uint16_t kStartPt = 0;
  uint16_t mStartPt = 0;
  uint8_t strideW = 1;
  uint8_t strideH = 1;
  uint8_t filterW = 1;
  uint8_t filterH = 1;
  uint8_t dilationFilterW = 1;
  uint8_t dilationFilterH = 1;
  bool enTranspose = false;
  bool enSmallK = false;
  T padValue{};
  bool filterSizeW = false;  // 256 more
  bool filterSizeH = false;
  bool fMatrixCtrl = false;

  constexpr LoadData3DParamsV2() = default;
  constexpr LoadData3DParamsV2(const uint8_t pads[4], uint16_t height, uint16_t width, uint16_t channels,
                               uint16_t k_extension, uint16_t m_extension, uint16_t k_start, uint16_t m_start,
                               uint8_t stride_w, uint8_t stride_h, uint8_t filter_w, uint8_t filter_h,
                               uint8_t dilation_w, uint8_t dilation_h, bool transpose, bool small_k, T pad_value,
                               bool size_w, bool size_h, bool f_matrix)
      : padList{pads[0], pads[1], pads[2], pads[3]},
        l1H(height),
        l1W(width),
        channelSize(channels),
        kExtension(k_extension),
        mExtension(m_extension),
        kStartPt(k_start),
        mStartPt(m_start),
        strideW(stride_w),
        strideH(stride_h),
        filterW(filter_w),
        filterH(filter_h),
        dilationFilterW(dilation_w),
        dilationFilterH(dilation_h),
        enTranspose(transpose),
        enSmallK(small_k),
        padValue(pad_value),
        filterSizeW(size_w),
        filterSizeH(size_h),
        fMatrixCtrl(f_matrix) {}
};

struct LoadData3DParamsV2Pro {
  uint16_t channelSize = 0;
  bool enTranspose = false;
  bool enSmallK = false;
  bool filterSizeW = false;
  bool filterSizeH = false;
  bool fMatrixCtrl = false;
  uint64_t extConfig = 0;                  // mStartPt, kStartPt, mExtension, kExtension: 16 bits each, from the top
  uint64_t filterConfig = 0x10101010101U;  // dilation H, W, filter H, W, stride H, W: 8 bits each, from the top
};

struct IsResetLoad3dConfig {
  bool isSetFMatrix = true;
  bool isSetPadding = true;
};
inline constexpr IsResetLoad3dConfig IS_RESER_LOAD3D_DEFAULT_CONFIG{true, true};

enum class FmatrixMode : uint8_t { FMATRIX_LEFT = 0, FMATRIX_RIGHT = 1 };

struct LoadDataRepeatParam {
  uint16_t repeatStride = 0;
  uint8_t repeatTime = 1;
  uint8_t repeatMode = 0;  // 0: along M, 1: along K
};

template <typename T>
struct InitConstValueParams {
  uint16_t repeatTimes = 0;
  uint16_t blockNum = 0;
  uint16_t dstGap = 0;
  T initValue{};

  constexpr InitConstValueParams() = default;
  constexpr InitConstValueParams(uint16_t repeats, uint16_t blocks, uint16_t gap, T value)
      : repeatTimes(repeats), blockNum(blocks), dstGap(gap), initValue(value) {}
};

struct MmadParams {
  uint16_t m = 0;
  uint16_t n = 0;
  uint16_t k = 0;
  bool isBias = false;
  int32_t fmOffset = 0;
  bool enSsparse = false;
  bool enWinogradA = false;
  bool enWinogradB = false;
  int8_t unitFlag = 0;
  bool kDirectionAlign = false;
  bool cmatrixSource = false;
  bool cmatrixInitVal = true;

  constexpr MmadParams() = default;
  constexpr MmadParams(uint16_t m_in, uint16_t n_in, uint16_t k_in, bool bias, int32_t offset, bool sparse,
                       bool winograd_a, bool winograd_b)
      : m(m_in),
        n(n_in),
        k(k_in),
        isBias(bias),
        fmOffset(offset),
        enSsparse(sparse),
        enWinogradA(winograd_a),
        enWinogradB(winograd_b) {}
  constexpr MmadParams(uint16_t m_in, uint16_t n_in, uint16_t k_in, int8_t unit, bool source, bool zero)
      : m(m_in), n(n_in), k(k_in), unitFlag(unit), cmatrixSource(source), cmatrixInitVal(zero) {}
};

enum class HF32Mode : uint8_t { DISABLE = 0, ENABLE = 1 };
enum class HF32TransMode : uint8_t { NEAREST_EVEN = 0, NEAREST_ZERO = 1 };

using ::QuantMode_t;

enum class CO2Layout : uint8_t { NZ = 0, ROW_MAJOR = 1, COLUMN_MAJOR = 2 };

struct FixpipeConfig {
  CO2Layout format;
  bool isToUB = false;
  constexpr FixpipeConfig(CO2Layout layout) : format(layout) {}
  constexpr FixpipeConfig(CO2Layout layout, bool to_ub) : format(layout), isToUB(to_ub) {}
};
inline constexpr FixpipeConfig CFG_NZ(CO2Layout::NZ);
inline constexpr FixpipeConfig CFG_ROW_MAJOR(CO2Layout::ROW_MAJOR);

struct FixpipeParamsV220 {
  uint16_t nSize = 0;
  uint16_t mSize = 0;
  uint16_t srcStride = 0;  // between the columns of fractals, in units of 16 elements
  uint32_t dstStride = 0;  // ND: elements of a row; NZ: between columns of fractals, in units of 32 bytes
  QuantMode_t quantPre = QuantMode_t::NoQuant;
  uint64_t deqScalar = 0;
  uint16_t ndNum = 1;
  uint16_t srcNdStride = 0;  // in fractals of 1024 bytes
  uint16_t dstNdStride = 0;  // in elements
  bool reluEn = false;
  uint8_t unitFlag = 0;
  bool isChannelSplit = false;

  constexpr FixpipeParamsV220() = default;
  constexpr FixpipeParamsV220(uint16_t n, uint16_t m, uint16_t src_stride, uint32_t dst_stride, bool relu)
      : nSize(n), mSize(m), srcStride(src_stride), dstStride(dst_stride), reluEn(relu) {}
  constexpr FixpipeParamsV220(uint16_t n, uint16_t m, uint16_t src_stride, uint32_t dst_stride, bool relu,
                              QuantMode_t quant, uint64_t scalar, uint16_t nd_num, uint16_t src_nd_stride,
                              uint16_t dst_nd_stride, uint8_t unit)
      : nSize(n),
        mSize(m),
        srcStride(src_stride),
        dstStride(dst_stride),
        quantPre(quant),
        deqScalar(scalar),
        ndNum(nd_num),
        srcNdStride(src_nd_stride),
        dstNdStride(dst_nd_stride),
        reluEn(relu),
        unitFlag(unit) {}
};

// Of DataCopy from L0C; units are those of FixpipeParamsV220.
struct DataCopyCO12DstParams {
  uint8_t sid = 0;
  uint16_t nSize = 0;
  uint16_t mSize = 0;
  uint32_t dstStride = 0;
  uint16_t srcStride = 0;
  uint8_t unitFlag = 0;
  uint8_t clipReluPre = 0;
  uint8_t eltWiseOp = 0;
  QuantMode_t quantPre = QuantMode_t::NoQuant;
  uint8_t reluPre = 0;
  bool channelSplit = false;
  bool nz2ndEn = false;

  constexpr DataCopyCO12DstParams() = default;
  constexpr DataCopyCO12DstParams(uint16_t n, uint16_t m, uint32_t dst_stride, uint16_t src_stride, QuantMode_t quant,
                                  uint8_t relu, bool split, bool rows)
      : nSize(n),
        mSize(m),
        dstStride(dst_stride),
        srcStride(src_stride),
        quantPre(quant),
        reluPre(relu),
        channelSplit(split),
        nz2ndEn(rows) {}
};

}  // namespace AscendC
