// native/ascendc/kernel/advanced/transform.h
// Transforms, filters and indices of the high-level API: Broadcast, Pad, UnPad, Select by a mask
// of bytes, DropOut, Arange, Fill of global memory.
#pragma once

#include "advanced/operands.h"
#include "advanced/tilings.h"
#include "core/global_tensor.h"

namespace AscendC {

struct PadParams {
  uint16_t leftPad = 0;
  uint16_t rightPad = 0;
  int32_t padValue = 0;
};
struct UnPadParams {
  uint16_t leftPad = 0;
  uint16_t rightPad = 0;
};
struct SelectWithBytesMaskShapeInfo {
  SelectWithBytesMaskShapeInfo() {}
  uint32_t firstAxis = 0;
  uint32_t srcLastAxis = 0;
  uint32_t maskLastAxis = 0;
};
struct DropOutShapeInfo {
  DropOutShapeInfo() {}
  uint32_t firstAxis = 0;
  uint32_t srcLastAxis = 0;
  uint32_t maskLastAxis = 0;
};

// ---- Broadcast

template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
OPWRIGHT_INLINE void Broadcast(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,
                               const uint32_t dstShape[dim], const uint32_t srcShape[dim]) {
  using namespace machine::advanced;
  static_assert((dim == 1 || dim == 2) && axis >= 0 && axis < dim, "Broadcast: one or two dimensions");
  const uint32_t rows = dim == 2 ? dstShape[0] : 1;
  const uint32_t columns = dstShape[dim - 1];
  const uint32_t src_rows = dim == 2 ? srcShape[0] : 1;
  const uint32_t src_columns = srcShape[dim - 1];
  const bool fits = (axis == dim - 1 ? src_columns == 1 : src_columns == columns) &&
                    (dim == 1 || (axis == 0 ? src_rows == 1 : src_rows == rows));
  if (!fits && (src_rows != rows || src_columns != columns)) {
    machine::refuse("Broadcast", src_rows, " x ", src_columns, " to ", rows, " x ", columns, " along axis ", axis,
                    "; allowed: 1 along that axis, the same along the other");
  }
  Call call("Broadcast");
  call.in("srcLocal", srcLocal, uint64_t{src_rows} * src_columns);
  call.out("dstLocal", dstLocal, uint64_t{rows} * columns);
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t column = 0; column < columns; ++column) {
      dstLocal.data()[uint64_t{row} * columns + column] =
          srcLocal.data()[uint64_t{src_rows == 1 ? 0 : row} * src_columns + (src_columns == 1 ? 0 : column)];
    }
  }
}
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
OPWRIGHT_INLINE void Broadcast(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,
                               const uint32_t dstShape[dim], const uint32_t srcShape[dim],
                               const LocalTensor<uint8_t>&) {
  Broadcast<T, dim, axis>(dstLocal, srcLocal, dstShape, srcShape);
}
// The name that it had first, which kernels still use.
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
OPWRIGHT_INLINE void BroadCast(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,
                               const uint32_t dstShape[dim], const uint32_t srcShape[dim]) {
  Broadcast<T, dim, axis>(dstLocal, srcLocal, dstShape, srcShape);
}
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
OPWRIGHT_INLINE void BroadCast(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,
                               const uint32_t dstShape[dim], const uint32_t srcShape[dim],
                               const LocalTensor<uint8_t>&) {
  Broadcast<T, dim, axis>(dstLocal, srcLocal, dstShape, srcShape);
}

// ---- Pad, UnPad

template <typename T>
OPWRIGHT_INLINE void Pad(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, PadParams& padParams,
                         PadTiling& tiling) {
  using namespace machine::advanced;
  constexpr uint32_t kBlock = 32 / sizeof(T);
  const uint32_t rows = tiling.srcHeight;
  const uint32_t stride = tiling.srcWidth;
  // A width of whole blocks has its padding in it already; another one gets it.
  const bool whole = stride % kBlock == 0;
  const uint32_t columns = whole ? tiling.srcOriWidth : stride;
  const uint32_t left = padParams.leftPad;
  const uint32_t width = columns + left + padParams.rightPad;
  if (width > (stride + kBlock - 1) / kBlock * kBlock || columns > stride || (whole && left != 0)) {
    machine::refuse("Pad", columns, " columns in ", stride, ", ", left, " to the left and ", padParams.rightPad,
                    " to the right; allowed: up to the next 32 bytes, to the left only if the width is not whole");
  }
  Call call("Pad");
  call.in("srcTensor", srcTensor, uint64_t{rows} * stride);
  call.out("dstTensor", dstTensor, uint64_t{rows} * width);
  const T value = static_cast<T>(padParams.padValue);
  for (uint32_t row = rows; row-- > 0;) {
    for (uint32_t column = width; column-- > 0;) {
      const bool inside = column >= left && column - left < columns;
      dstTensor.data()[uint64_t{row} * width + column] =
          inside ? srcTensor.data()[uint64_t{row} * stride + column - left] : value;
    }
  }
}
template <typename T>
OPWRIGHT_INLINE void Pad(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, PadParams& padParams,
                         const LocalTensor<uint8_t>&, PadTiling& tiling) {
  Pad<T>(dstTensor, srcTensor, padParams, tiling);
}

template <typename T>
OPWRIGHT_INLINE void UnPad(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, UnPadParams& unPadParams,
                           UnPadTiling& tiling) {
  using namespace machine::advanced;
  const uint32_t rows = tiling.srcHeight;
  const uint32_t stride = tiling.srcWidth;
  const uint32_t off = unPadParams.leftPad + unPadParams.rightPad;
  if (off > stride || stride * sizeof(T) % 32 != 0) {
    machine::refuse("UnPad", stride, " columns less ", off, "; allowed: columns of whole 32 bytes");
  }
  const uint32_t width = stride - off;
  Call call("UnPad");
  call.in("srcTensor", srcTensor, uint64_t{rows} * stride);
  call.out("dstTensor", dstTensor, uint64_t{rows} * width);
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t column = 0; column < width; ++column) {
      dstTensor.data()[uint64_t{row} * width + column] =
          srcTensor.data()[uint64_t{row} * stride + unPadParams.leftPad + column];
    }
  }
}
template <typename T>
OPWRIGHT_INLINE void UnPad(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, UnPadParams& unPadParams,
                           const LocalTensor<uint8_t>&, UnPadTiling& tiling) {
  UnPad<T>(dstTensor, srcTensor, unPadParams, tiling);
}

// ---- Select by a mask of one number for each element, DropOut

namespace machine::advanced {

template <class T, class Mask, class Choose>
OPWRIGHT_INLINE void select(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<Mask>& mask,
                            const SelectWithBytesMaskShapeInfo& info, Choose choose) {
  static_assert(kIsReal<PrimT<T>>, "Select: half or float");
  if (info.maskLastAxis < info.srcLastAxis) {
    refuse("Select", "maskLastAxis is ", info.maskLastAxis, ", srcLastAxis ", info.srcLastAxis,
           "; allowed: the mask's rows are at least as long");
  }
  Call call("Select");
  call.in("src", src, uint64_t{info.firstAxis} * info.srcLastAxis);
  call.in("mask", mask, uint64_t{info.firstAxis} * info.maskLastAxis);
  call.out("dst", dst, uint64_t{info.firstAxis} * info.srcLastAxis);
  for (uint32_t row = 0; row < info.firstAxis; ++row) {
    for (uint32_t i = 0; i < info.srcLastAxis; ++i) {
      const uint64_t at = uint64_t{row} * info.srcLastAxis + i;
      const bool second = mask.data()[uint64_t{row} * info.maskLastAxis + i] != 0;
      dst.data()[at] = choose(src.data()[at], second);
    }
  }
}

}  // namespace machine::advanced

template <typename T, typename U, bool isReuseMask = true>
OPWRIGHT_INLINE void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, T src1, const LocalTensor<U>& mask,
                            const LocalTensor<uint8_t>&, const SelectWithBytesMaskShapeInfo& info) {
  machine::advanced::select(dst, src0, mask, info, [src1](T value, bool second) { return second ? src1 : value; });
}
template <typename T, typename U, bool isReuseMask = true>
OPWRIGHT_INLINE void Select(const LocalTensor<T>& dst, T src0, const LocalTensor<T>& src1, const LocalTensor<U>& mask,
                            const LocalTensor<uint8_t>&, const SelectWithBytesMaskShapeInfo& info) {
  machine::advanced::select(dst, src1, mask, info, [src0](T value, bool second) { return second ? value : src0; });
}
template <typename T, typename U, bool isReuseMask = true>
OPWRIGHT_INLINE void SelectWithBytesMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, T src1,
                                         const LocalTensor<U>& mask, const LocalTensor<uint8_t>& tmp,
                                         const SelectWithBytesMaskShapeInfo& info) {
  Select<T, U>(dst, src0, src1, mask, tmp, info);
}
template <typename T, typename U, bool isReuseMask = true>
OPWRIGHT_INLINE void SelectWithBytesMask(const LocalTensor<T>& dst, T src0, const LocalTensor<T>& src1,
                                         const LocalTensor<U>& mask, const LocalTensor<uint8_t>& tmp,
                                         const SelectWithBytesMaskShapeInfo& info) {
  Select<T, U>(dst, src0, src1, mask, tmp, info);
}

template <typename T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
OPWRIGHT_INLINE void DropOut(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,
                             const LocalTensor<uint8_t>& maskLocal, const float keepProb,
                             const DropOutShapeInfo& info) {
  using namespace machine::advanced;
  static_assert(kIsReal<PrimT<T>> && dropOutMode <= 4, "DropOut: half or float, dropOutMode 0 to 4");
  // As many bytes as elements, or more: a byte each; else a bit each.
  const bool bits = dropOutMode == 0 ? info.maskLastAxis < info.srcLastAxis : dropOutMode >= 3;
  const uint64_t count = uint64_t{info.firstAxis} * info.srcLastAxis;
  const uint64_t mask_bytes = uint64_t{info.firstAxis} * info.maskLastAxis;
  Call call("DropOut");
  call.in("srcLocal", srcLocal, count);
  call.in("maskLocal", maskLocal, mask_bytes);
  call.out("dstLocal", dstLocal, count);
  const float factor = 1.0f / keepProb;
  // Without filler between its rows, a mask of bits is one run of bits.
  const bool one_run = bits && mask_bytes * 8 == count;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t row = i / info.srcLastAxis;
    const uint64_t column = i % info.srcLastAxis;
    const uint64_t bit = one_run ? i : row * info.maskLastAxis * 8 + column;
    const bool keep = bits ? (maskLocal.data()[bit / 8] >> (bit % 8) & 1) != 0
                           : maskLocal.data()[row * info.maskLastAxis + column] != 0;
    dstLocal.data()[i] = keep ? static_cast<T>(static_cast<float>(srcLocal.data()[i]) * factor) : static_cast<T>(0.0f);
  }
}
template <typename T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
OPWRIGHT_INLINE void DropOut(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,
                             const LocalTensor<uint8_t>& maskLocal, const LocalTensor<uint8_t>&, const float keepProb,
                             const DropOutShapeInfo& info) {
  DropOut<T, isInitBitMode, dropOutMode>(dstLocal, srcLocal, maskLocal, keepProb, info);
}

// ---- numbers in a row, global memory full of a value

template <typename T>
OPWRIGHT_INLINE void Arange(const LocalTensor<T>& dst, const T firstValue, const T diffValue, const int32_t count) {
  machine::advanced::Call call("Arange");
  call.out("dst", dst, static_cast<uint64_t>(count));
  for (int32_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>) {
      dst.data()[i] = static_cast<T>(firstValue + static_cast<T>(i) * diffValue);
    } else {
      dst.data()[i] =
          static_cast<T>(static_cast<float>(firstValue) + static_cast<float>(i) * static_cast<float>(diffValue));
    }
  }
}

// The values pass through the unified buffer, which a cube core lacks: there the call returns without effect, as on the
// device (asc-devkit, init_global_memory_v220_impl.h).
template <typename T>
OPWRIGHT_INLINE void Fill(const GlobalTensor<T>& gmWorkspaceAddr, const uint64_t size, const T value) {
  if (machine::core().kind == machine::CoreKind::kCube) return;
  machine::check_global("Fill", "gmWorkspaceAddr", gmWorkspaceAddr.data(), size * sizeof(T));
  machine::Instruction instruction(machine::Pipe::kMte3, "Fill");
  instruction.writes("gmWorkspaceAddr", {gmWorkspaceAddr.data(), static_cast<uint32_t>(size * sizeof(T))});
  for (uint64_t i = 0; i < size; ++i) gmWorkspaceAddr.data()[i] = value;
}
template <typename T>
OPWRIGHT_INLINE void InitGlobalMemory(const GlobalTensor<T>& gmWorkspaceAddr, const uint64_t size, const T value) {
  Fill<T>(gmWorkspaceAddr, size, value);
}
template <typename T>
OPWRIGHT_INLINE void InitOutput(const GlobalTensor<T>& gmWorkspaceAddr, uint32_t size, T value = T(0)) {
  Fill<T>(gmWorkspaceAddr, size, value);
}

}  // namespace AscendC

// Kernels call it without the namespace, with template arguments, which the device's compiler takes.
using AscendC::InitOutput;
