// native/ascendc/instructions/transpose.cpp
#include "vector/transpose.h"

#include <algorithm>
#include <cstring>

#include "instructions/extent.h"

namespace AscendC::machine::vector {
namespace {

constexpr uint32_t kSide = 16;

// Element by element, with strides in elements.
void transpose(std::byte* dst, const std::byte* src, uint64_t rows, uint64_t columns, uint32_t bytes) {
  for (uint64_t row = 0; row < rows; row++) {
    for (uint64_t column = 0; column < columns; column++) {
      std::memcpy(dst + (column * rows + row) * bytes, src + (row * columns + column) * bytes, bytes);
    }
  }
}

}  // namespace

void transpose_16x16(Instruction& instruction, void* dst, const void* src) {
  std::byte block[kSide * kSide * 2];
  touch(instruction, "Transpose", "src", src, sizeof block, false);
  touch(instruction, "Transpose", "dst", dst, sizeof block, true);
  transpose(block, static_cast<const std::byte*>(src), kSide, kSide, 2);
  std::memcpy(dst, block, sizeof block);
}

void transpose_channels(Instruction& instruction, void* dst, const void* src, void* shared, uint32_t element_bytes,
                        const TransposeParamsExt& shape) {
  constexpr const char* kApi = "Transpose";
  const bool to_last = shape.transposeType == TransposeType::TRANSPOSE_NCHW2NHWC;
  if (shape.transposeType == TransposeType::TRANSPOSE_TYPE_NONE) return;
  if (shape.transposeType == TransposeType::TRANSPOSE_ND2ND_B16) {
    if (element_bytes != 2) refuse(kApi, "TRANSPOSE_ND2ND_B16 takes elements of 2 bytes, not of ", element_bytes);
    return transpose_16x16(instruction, dst, src);
  }
  if (!to_last && shape.transposeType != TransposeType::TRANSPOSE_NHWC2NCHW) {
    refuse(kApi, "transposeType is ", static_cast<int>(shape.transposeType),
           "; allowed: TRANSPOSE_ND2ND_B16, TRANSPOSE_NCHW2NHWC, TRANSPOSE_NHWC2NCHW");
  }
  const uint64_t plane = uint64_t{shape.hSize} * shape.wSize;
  const uint64_t image = plane * shape.cSize;
  const uint64_t bytes = image * shape.nSize * element_bytes;
  if (bytes == 0) return;
  if (plane * element_bytes % kBlockBytes != 0) {
    refuse(kApi, "hSize * wSize takes ", plane * element_bytes, " bytes; it must be a multiple of 32");
  }
  const uint64_t rows = element_bytes == 1 ? 32 : 16;
  const uint64_t parts = to_last ? shape.cSize + 2 : shape.cSize * 2 + 1;
  touch(instruction, kApi, "src", src, bytes, false);
  touch(instruction, kApi, "sharedTmpBuffer", shared, parts * rows * kBlockBytes, true);
  touch(instruction, kApi, "dst", dst, bytes, true);
  for (uint64_t n = 0; n < shape.nSize; n++) {
    const uint64_t start = n * image * element_bytes;
    transpose(static_cast<std::byte*>(dst) + start, static_cast<const std::byte*>(src) + start,
              to_last ? shape.cSize : plane, to_last ? plane : shape.cSize, element_bytes);
  }
}

void transpose_blocks(Instruction& instruction, const uint64_t* dst, const uint64_t* src, uint32_t element_bytes,
                      const TransDataTo5HDParams& params) {
  constexpr const char* kApi = "TransDataTo5HD";
  const uint32_t per_block = kBlockBytes / element_bytes;
  // Of 8-bit elements half a block is read and half a block is written.
  const uint32_t columns = element_bytes == 1 ? kSide : per_block;
  const uint32_t from_column = element_bytes == 1 && params.srcHighHalf ? kSide : 0;
  const uint32_t to_column = element_bytes == 1 && params.dstHighHalf ? kSide : 0;
  // The first repeat starts at the addresses, but a single one starts a stride behind them.
  const uint32_t first = params.repeatTimes == 1 ? 1 : 0;
  for (uint32_t repeat = first; repeat < first + params.repeatTimes; repeat++) {
    std::byte blocks[kSide][kBlockBytes];
    for (uint32_t i = 0; i < kSide; i++) {
      const auto* from =
          reinterpret_cast<const std::byte*>(src[i]) + uint64_t{repeat} * params.srcRepStride * kBlockBytes;
      touch(instruction, kApi, "srcList", from, kBlockBytes, false);
      std::memcpy(blocks[i], from, kBlockBytes);
    }
    // Column by column; two blocks hold a column of 32-bit elements.
    for (uint32_t column = 0; column < columns; column++) {
      for (uint32_t row = 0; row < kSide; row++) {
        const uint32_t number = column * kSide + row;
        const uint32_t in_block = element_bytes == 1 ? kSide : per_block;
        auto* to =
            reinterpret_cast<std::byte*>(dst[number / in_block]) + uint64_t{repeat} * params.dstRepStride * kBlockBytes;
        std::memcpy(to + (number % in_block + to_column) * element_bytes,
                    blocks[row] + (column + from_column) * element_bytes, element_bytes);
      }
    }
    for (uint32_t i = 0; i < kSide; i++) {
      const auto* to = reinterpret_cast<std::byte*>(dst[i]) + uint64_t{repeat} * params.dstRepStride * kBlockBytes;
      const uint32_t bytes = element_bytes == 1 ? kSide : kBlockBytes;
      touch(instruction, kApi, "dstList", to + to_column, bytes, true, kSide);
    }
  }
}

}  // namespace AscendC::machine::vector
