// native/ascendc/kernel/copy/data_copy.h
// DataCopy and DataCopyPad in their forms, and Copy.
#pragma once

#include "copy/atomic.h"
#include "copy/move.h"
#include "vector/lanes.h"

namespace AscendC {
namespace machine::copy {

inline constexpr int64_t kBlock = 32;

template <class D, class S>
OPWRIGHT_INLINE void move_strided(Pipe pipe, const D& dst, const S& src, const DataCopyParams& params,
                                  int64_t dst_unit = kBlock, int64_t src_unit = kBlock) {
  const int64_t length = params.blockLen;
  move(pipe, "DataCopy", side("dst", dst, length * dst_unit + params.dstGap * dst_unit),
       side("src", src, length * src_unit + params.srcGap * kBlock), params.blockCount,
       static_cast<uint32_t>(length * dst_unit));
}

// Between memories of the core. The bias table is filled in units of 64 bytes, the buffer of Fixpipe in units of 128,
// there with distances from start to start.
template <class T, class U>
OPWRIGHT_INLINE void move_local(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyParams& params) {
  const Pipe pipe = pipe_between(dst.position(), src.position());
  const Memory to = memory_of(dst.position());
  if constexpr (std::is_same_v<PrimT<U>, half> && std::is_same_v<PrimT<T>, float>) {
    const int64_t bytes = params.blockLen * 64;
    widen_bias(side("dst", dst, bytes + params.dstGap * 64), side("src", src, bytes / 2 + params.srcGap * kBlock),
               params.blockCount, static_cast<uint32_t>(bytes / 4));
  } else {
    static_assert(std::is_same_v<PrimT<T>, PrimT<U>>,
                  "DataCopy: only half to float converts; docs/ascend_c_instructions.md");
    if (to == Memory::kBias) {
      move_strided(pipe, dst, src, params, 64, 64);
    } else if (to == Memory::kFixpipe) {
      const bool one = params.blockCount == 1;
      move(pipe, "DataCopy", side("dst", dst, one ? 0 : params.dstGap * 128),
           side("src", src, one ? 0 : params.srcGap * kBlock), params.blockCount, params.blockLen * 128u);
    } else {
      move_strided(pipe, dst, src, params);
    }
  }
}

}  // namespace machine::copy

// ---- contiguous

template <typename T>
OPWRIGHT_INLINE void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const uint32_t count) {
  using namespace machine::copy;
  move_blocks(machine::Pipe::kMte2, "DataCopy", side("dst", dst), side("src", src), bytes_of<PrimT<T>>(count));
}
template <typename T>
OPWRIGHT_INLINE void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count) {
  using namespace machine::copy;
  move_blocks(machine::Pipe::kMte3, "DataCopy", side("dst", dst), side("src", src), bytes_of<PrimT<T>>(count));
}
template <typename T>
OPWRIGHT_INLINE void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count) {
  using namespace machine::copy;
  move_blocks(pipe_between(dst.position(), src.position()), "DataCopy", side("dst", dst), side("src", src),
              bytes_of<PrimT<T>>(count));
}

// ---- runs with gaps

template <typename T>
OPWRIGHT_INLINE void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                              const DataCopyParams& repeatParams) {
  machine::copy::move_strided(machine::Pipe::kMte2, dst, src, repeatParams);
}
template <typename T>
OPWRIGHT_INLINE void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                              const DataCopyParams& repeatParams) {
  machine::copy::move_strided(machine::Pipe::kMte3, dst, src, repeatParams);
}
template <typename T>
OPWRIGHT_INLINE void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                              const DataCopyParams& repeatParams) {
  machine::copy::move_local(dst, src, repeatParams);
}
template <typename T, typename U>
OPWRIGHT_INLINE void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                              const DataCopyParams& repeatParams) {
  machine::copy::move_local(dst, src, repeatParams);
}

// ---- slices

template <typename T>
OPWRIGHT_INLINE void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const SliceInfo dstSliceInfo[],
                              const SliceInfo srcSliceInfo[], const uint32_t dimValue = 1) {
  using namespace machine::copy;
  move_slices(machine::Pipe::kMte2, side("dst", dst), side("src", src), sizeof(PrimT<T>), dstSliceInfo, srcSliceInfo,
              dimValue);
}
template <typename T>
OPWRIGHT_INLINE void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const SliceInfo dstSliceInfo[],
                              const SliceInfo srcSliceInfo[], const uint32_t dimValue = 1) {
  using namespace machine::copy;
  move_slices(machine::Pipe::kMte3, side("dst", dst), side("src", src), sizeof(PrimT<T>), dstSliceInfo, srcSliceInfo,
              dimValue);
}

// ---- between layouts

template <typename T>
OPWRIGHT_INLINE void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& intriParams) {
  using namespace machine::copy;
  rows_to_parts(machine::Pipe::kMte2, side("dst", dst), side("src", src), sizeof(PrimT<T>), intriParams);
}
template <typename T>
OPWRIGHT_INLINE void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Nd2NzParams& intriParams) {
  using namespace machine::copy;
  rows_to_parts(machine::Pipe::kMte3, side("dst", dst), side("src", src), sizeof(PrimT<T>), intriParams);
}
template <typename T>
OPWRIGHT_INLINE void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                              const Nz2NdParamsFull& intriParams) {
  using namespace machine::copy;
  parts_to_rows(machine::Pipe::kMte3, side("dst", dst), side("src", src), sizeof(PrimT<T>), intriParams);
}

// ---- any number of bytes

namespace machine::copy {

template <class T>
OPWRIGHT_INLINE void pad_in(const LocalTensor<T>& dst, const GlobalTensor<T>& src, uint32_t runs, uint32_t bytes,
                            int64_t src_gap, int64_t dst_gap, const Padding& padding) {
  const int64_t taken = (padding.left + padding.right) * int64_t{padding.element_bytes} + bytes;
  const int64_t whole = (taken + kBlock - 1) / kBlock * kBlock;
  move_padded(Pipe::kMte2, "DataCopyPad", side("dst", dst, whole + dst_gap * kBlock), side("src", src, bytes + src_gap),
              runs, bytes, padding);
}

template <class T>
OPWRIGHT_INLINE void pad_out(const GlobalTensor<T>& dst, const LocalTensor<T>& src, uint32_t runs, uint32_t bytes,
                             int64_t src_gap, int64_t dst_gap) {
  const int64_t whole = (int64_t{bytes} + kBlock - 1) / kBlock * kBlock;
  move(Pipe::kMte3, "DataCopyPad", side("dst", dst, bytes + dst_gap), side("src", src, whole + src_gap * kBlock), runs,
       bytes);
}

}  // namespace machine::copy

template <typename T, PaddingMode mode = PaddingMode::Normal>
OPWRIGHT_INLINE void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                 const DataCopyExtParams& dataCopyParams, const DataCopyPadExtParams<T>& padParams) {
  static_assert(mode == PaddingMode::Normal,
                "DataCopyPad: Atlas A2 has no compact mode; docs/ascend_c_instructions.md");
  machine::copy::pad_in(dst, src, dataCopyParams.blockCount, dataCopyParams.blockLen, dataCopyParams.srcStride,
                        dataCopyParams.dstStride,
                        {sizeof(PrimT<T>), padParams.leftPadding, padParams.rightPadding, padParams.isPad,
                         machine::bits_of(padParams.paddingValue)});
}
template <typename T>
OPWRIGHT_INLINE void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                 const DataCopyParams& dataCopyParams, const DataCopyPadParams& padParams) {
  machine::copy::pad_in(
      dst, src, dataCopyParams.blockCount, dataCopyParams.blockLen, dataCopyParams.srcGap, dataCopyParams.dstGap,
      {sizeof(PrimT<T>), padParams.leftPadding, padParams.rightPadding, padParams.isPad, padParams.paddingValue});
}
template <typename T, PaddingMode mode = PaddingMode::Normal>
OPWRIGHT_INLINE void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                                 const DataCopyExtParams& dataCopyParams) {
  static_assert(mode == PaddingMode::Normal,
                "DataCopyPad: Atlas A2 has no compact mode; docs/ascend_c_instructions.md");
  machine::copy::pad_out(dst, src, dataCopyParams.blockCount, dataCopyParams.blockLen, dataCopyParams.srcStride,
                         dataCopyParams.dstStride);
}
template <typename T>
OPWRIGHT_INLINE void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                                 const DataCopyParams& dataCopyParams) {
  machine::copy::pad_out(dst, src, dataCopyParams.blockCount, dataCopyParams.blockLen, dataCopyParams.srcGap,
                         dataCopyParams.dstGap);
}
// From the unified buffer into L1, where rows become the parts of an NZ matrix.
template <typename T>
OPWRIGHT_INLINE void DataCopyPad(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams&,
                                 const Nd2NzParams& nd2nzParams) {
  DataCopy(dst, src, nd2nzParams);
}

template <typename T, TPosition pos = TPosition::MAX>
OPWRIGHT_INLINE void SetPadValue(T paddingValue) {
  machine::core().registers.pad_value = machine::bits_of(paddingValue);
  machine::core().registers.pads = true;
}

// ---- Copy: within the unified buffer, by mask and repeats

namespace machine::vector {
OPWRIGHT_RUNTIME void copy_lanes(Instruction& instruction, const Operand& dst, const Operand& src, const Lanes& lanes);

template <class T>
OPWRIGHT_INLINE void copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Lanes& lanes,
                          const CopyRepeatParams& strides) {
  static_assert(sizeof(PrimT<T>) == 2 || sizeof(PrimT<T>) == 4,
                "Copy takes elements of 2 or 4 bytes on Atlas A2: docs/ascend_c_instructions.md");
  Instruction instruction(Pipe::kVector, "Copy");
  copy_lanes(instruction, operand("dst", dst, strides.dstStride, strides.dstRepeatSize),
             operand("src", src, strides.srcStride, strides.srcRepeatSize), lanes);
}
}  // namespace machine::vector

template <typename T, bool isSetMask = true>
OPWRIGHT_INLINE void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],
                          const uint8_t repeatTime, const CopyRepeatParams& repeatParams) {
  using namespace machine::vector;
  copy(dst, src, Lanes::given(isSetMask, mask, repeatTime, sizeof(PrimT<T>) <= 2), repeatParams);
}
template <typename T, bool isSetMask = true>
OPWRIGHT_INLINE void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask,
                          const uint8_t repeatTime, const CopyRepeatParams& repeatParams) {
  using namespace machine::vector;
  copy(dst, src, Lanes::given(isSetMask, mask, repeatTime), repeatParams);
}

}  // namespace AscendC
