// native/ascendc/kernel/copy/params.h
// Parameters of data copies, with the documented names, positional orders and defaults.
#pragma once

#include <cstdint>

namespace AscendC {

// Lengths and gaps in blocks of 32 bytes; a gap lies between the end of a run and the start of the next.
struct DataCopyParams {
  constexpr DataCopyParams() : srcGap(0), dstGap(0) {}
  constexpr DataCopyParams(uint16_t count, uint16_t length, uint16_t src_gap, uint16_t dst_gap)
      : blockCount(count), blockLen(length), srcGap(src_gap), dstGap(dst_gap) {}

  uint16_t blockCount = 1;
  uint16_t blockLen = 0;
  union {
    uint16_t srcGap;
    uint16_t srcStride;  // its former name
  };
  union {
    uint16_t dstGap;
    uint16_t dstStride;
  };
};

// Lengths in bytes; gaps in bytes of the global side, in blocks of 32 bytes of the local one.
struct DataCopyExtParams {
  constexpr DataCopyExtParams() = default;
  constexpr DataCopyExtParams(uint16_t count, uint32_t length, uint32_t src_stride, uint32_t dst_stride,
                              uint32_t reserved)
      : blockCount(count), blockLen(length), srcStride(src_stride), dstStride(dst_stride), rsv(reserved) {}

  uint16_t blockCount = 1;
  uint32_t blockLen = 0;
  uint32_t srcStride = 0;
  uint32_t dstStride = 0;
  uint32_t rsv = 0;
};

struct DataCopyPadParams {
  constexpr DataCopyPadParams() = default;
  constexpr DataCopyPadParams(bool pads, uint8_t left, uint8_t right, uint64_t value)
      : isPad(pads), leftPadding(left), rightPadding(right), paddingValue(value) {}

  bool isPad = false;
  uint8_t leftPadding = 0;
  uint8_t rightPadding = 0;
  uint64_t paddingValue = 0;
};

template <typename T>
struct DataCopyPadExtParams {
  constexpr DataCopyPadExtParams() = default;
  constexpr DataCopyPadExtParams(bool pads, uint8_t left, uint8_t right, T value)
      : isPad(pads), leftPadding(left), rightPadding(right), paddingValue(value) {}

  bool isPad = false;
  uint8_t leftPadding = 0;
  uint8_t rightPadding = 0;
  T paddingValue{};
};

enum class PaddingMode : uint8_t { Normal = 0, Compact };

struct CopyRepeatParams {
  constexpr CopyRepeatParams() = default;
  constexpr CopyRepeatParams(uint16_t dst_block, uint16_t src_block, uint16_t dst_repeat, uint16_t src_repeat)
      : dstStride(dst_block), srcStride(src_block), dstRepeatSize(dst_repeat), srcRepeatSize(src_repeat) {}

  uint16_t dstStride = 1;
  uint16_t srcStride = 1;
  uint16_t dstRepeatSize = 8;
  uint16_t srcRepeatSize = 8;
};

struct Nd2NzParams {
  constexpr Nd2NzParams() = default;
  constexpr Nd2NzParams(uint16_t matrices, uint16_t rows, uint16_t columns, uint16_t src_matrix, uint16_t src_row,
                        uint16_t dst_c0, uint16_t dst_row, uint16_t dst_matrix)
      : ndNum(matrices),
        nValue(rows),
        dValue(columns),
        srcNdMatrixStride(src_matrix),
        srcDValue(src_row),
        dstNzC0Stride(dst_c0),
        dstNzNStride(dst_row),
        dstNzMatrixStride(dst_matrix) {}

  uint16_t ndNum = 0;
  uint16_t nValue = 0;
  uint16_t dValue = 0;
  uint16_t srcNdMatrixStride = 0;  // elements
  uint16_t srcDValue = 0;          // elements between rows
  uint16_t dstNzC0Stride = 0;      // blocks of 32 bytes between the parts of one row
  uint16_t dstNzNStride = 0;       // blocks between rows
  uint16_t dstNzMatrixStride = 0;  // elements
};

struct Nz2NdParamsFull {
  constexpr Nz2NdParamsFull() = default;
  constexpr Nz2NdParamsFull(uint16_t matrices, uint16_t rows, uint16_t columns, uint16_t src_matrix, uint16_t src_part,
                            uint16_t dst_row, uint16_t dst_matrix)
      : ndNum(matrices),
        nValue(rows),
        dValue(columns),
        srcNdMatrixStride(src_matrix),
        srcNStride(src_part),
        dstDStride(dst_row),
        dstNdMatrixStride(dst_matrix) {}

  uint16_t ndNum = 1;
  uint16_t nValue = 0;
  uint16_t dValue = 0;
  uint16_t srcNdMatrixStride = 1;  // 256 elements
  uint16_t srcNStride = 0;         // 16 elements between the parts of one row
  uint16_t dstDStride = 0;         // elements between rows
  uint16_t dstNdMatrixStride = 1;  // elements
};

// One dimension of a slice, the innermost one first. Indices and strides count elements.
struct SliceInfo {
  constexpr SliceInfo() = default;
  constexpr SliceInfo(uint32_t start, uint32_t end, uint32_t gap, uint32_t burst, uint32_t extent)
      : startIndex(start), endIndex(end), stride(gap), burstLen(burst), shapeValue(extent) {}

  uint32_t startIndex = 0;
  uint32_t endIndex = 0;  // inclusive
  uint32_t stride = 0;    // between the end of a piece and the next
  uint32_t burstLen = 1;  // blocks of 32 bytes
  uint32_t shapeValue = 0;
};

enum class AtomicDtype { ATOMIC_NONE = 0, ATOMIC_F32, ATOMIC_F16, ATOMIC_S16, ATOMIC_S32, ATOMIC_S8, ATOMIC_BF16 };
enum class AtomicOp { ATOMIC_SUM = 0 };

}  // namespace AscendC
