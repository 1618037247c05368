// native/ascendc/kernel/vector/transpose.h
// Transposes of blocks, and between NCHW and NHWC.
#pragma once

#include "vector/lanes.h"

namespace AscendC {
namespace machine::vector {

OPWRIGHT_RUNTIME void transpose_16x16(Instruction& instruction, void* dst, const void* src);
OPWRIGHT_RUNTIME void transpose_channels(Instruction& instruction, void* dst, const void* src, void* shared,
                                         uint32_t element_bytes, const TransposeParamsExt& shape);
// 16 blocks of the source give 16 blocks of the destination; both are named by their addresses.
OPWRIGHT_RUNTIME void transpose_blocks(Instruction& instruction, const uint64_t* dst, const uint64_t* src,
                                       uint32_t element_bytes, const TransDataTo5HDParams& params);

template <class T>
OPWRIGHT_INLINE void trans_data(const uint64_t* dst, const uint64_t* src, const TransDataTo5HDParams& params) {
  static_assert(sizeof(T) <= 4, "TransDataTo5HD takes elements of 1, 2 or 4 bytes: docs/ascend_c_instructions.md");
  Instruction instruction(Pipe::kVector, "TransDataTo5HD");
  transpose_blocks(instruction, dst, src, sizeof(T), params);
}

}  // namespace machine::vector

template <typename T>
OPWRIGHT_INLINE void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src) {
  static_assert(sizeof(PrimT<T>) == 2,
                "Transpose of a 16 x 16 block takes elements of 2 bytes: docs/ascend_c_instructions.md");
  machine::Instruction instruction(machine::Pipe::kVector, "Transpose");
  machine::vector::transpose_16x16(instruction, dst.data(), src.data());
}

template <typename T>
OPWRIGHT_INLINE void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                               const LocalTensor<uint8_t>& sharedTmpBuffer, const TransposeParamsExt& transposeParams) {
  static_assert(sizeof(PrimT<T>) <= 4, "Transpose takes elements of 1, 2 or 4 bytes: docs/ascend_c_instructions.md");
  machine::Instruction instruction(machine::Pipe::kVector, "Transpose");
  machine::vector::transpose_channels(instruction, dst.data(), src.data(), sharedTmpBuffer.data(), sizeof(PrimT<T>),
                                      transposeParams);
}

template <typename T>
OPWRIGHT_INLINE void TransDataTo5HD(uint64_t dstList[NCHW_CONV_ADDR_LIST_SIZE],
                                    uint64_t srcList[NCHW_CONV_ADDR_LIST_SIZE],
                                    const TransDataTo5HDParams& nchwconvParams) {
  machine::vector::trans_data<PrimT<T>>(dstList, srcList, nchwconvParams);
}
template <typename T>
OPWRIGHT_INLINE void TransDataTo5HD(const LocalTensor<uint64_t>& dst, const LocalTensor<uint64_t>& src,
                                    const TransDataTo5HDParams& nchwconvParams) {
  machine::vector::trans_data<PrimT<T>>(dst.data(), src.data(), nchwconvParams);
}
template <typename T>
OPWRIGHT_INLINE void TransDataTo5HD(const LocalTensor<T> (&dstList)[NCHW_CONV_ADDR_LIST_SIZE],
                                    const LocalTensor<T> (&srcList)[NCHW_CONV_ADDR_LIST_SIZE],
                                    const TransDataTo5HDParams& nchwconvParams) {
  uint64_t dst[NCHW_CONV_ADDR_LIST_SIZE];
  uint64_t src[NCHW_CONV_ADDR_LIST_SIZE];
  for (int i = 0; i < NCHW_CONV_ADDR_LIST_SIZE; i++) {
    dst[i] = reinterpret_cast<uint64_t>(dstList[i].data());
    src[i] = reinterpret_cast<uint64_t>(srcList[i].data());
  }
  machine::vector::trans_data<PrimT<T>>(dst, src, nchwconvParams);
}

}  // namespace AscendC
