// native/ascendc/kernel/advanced/quantization.h
// Quantisation of the high-level API in the forms of Atlas A2: AscendQuant to int8_t, AscendDequant from int32_t,
// AscendAntiQuant from int8_t.
#pragma once

#include <cmath>

#include "advanced/operands.h"

namespace AscendC {

struct AscendQuantConfig {
  uint32_t calcCount = 0;
  uint32_t offsetCount = 0;
  uint32_t scaleCount = 0;
  uint32_t workLocalSize = 0;
};
inline constexpr AscendQuantConfig ASCEND_QUANT_DEFAULT_CFG = {0, 0, 0, 0};
enum class DeQuantMode { DEQUANT_WITH_SINGLE_ROW = 0, DEQUANT_WITH_MULTI_ROW };
struct DequantParams {
  uint32_t m;
  uint32_t n;
  uint32_t calCount;
};
struct AntiQuantShapeInfo {
  uint32_t offsetHeight{0};
  uint32_t offsetWidth{0};
  uint32_t scaleHeight{0};
  uint32_t scaleWidth{0};
};

namespace machine::advanced {

template <class T>
OPWRIGHT_INLINE float to_float(T value) {
  return static_cast<float>(value);
}

// The device computes in half, each operation rounded.
template <class T>
OPWRIGHT_INLINE int8_t quantised(T value, T scale, T offset) {
  const half scaled = static_cast<half>(to_float(static_cast<half>(value)) * to_float(static_cast<half>(scale)));
  const half moved = static_cast<half>(to_float(scaled) + to_float(static_cast<half>(offset)));
  const float rounded = std::nearbyint(to_float(moved));
  return static_cast<int8_t>(rounded > 127.0f ? 127.0f : rounded < -128.0f ? -128.0f : rounded);
}

// Scales and offsets that repeat; a width of 1 is a single one.
template <class T>
OPWRIGHT_INLINE void quantise(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, const T* scales,
                              uint32_t scale_count, const T* offsets, uint32_t offset_count, uint32_t count) {
  static_assert(kIsReal<PrimT<T>>, "AscendQuant: half or float");
  const T* from = src.data();
  int8_t* to = dst.data();
  for (uint32_t i = 0; i < count; ++i) to[i] = quantised(from[i], scales[i % scale_count], offsets[i % offset_count]);
}

}  // namespace machine::advanced

// ---- one scale for all

template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>
OPWRIGHT_INLINE void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor,
                                 const float scale, const float offset, const uint32_t calCount) {
  machine::advanced::Call call("AscendQuant");
  call.in("srcTensor", srcTensor, calCount);
  call.out("dstTensor", dstTensor, calCount);
  const T factor = static_cast<T>(scale);
  const T shift = static_cast<T>(offset);
  machine::advanced::quantise(dstTensor, srcTensor, &factor, 1, &shift, 1, calCount);
}
template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>
OPWRIGHT_INLINE void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor,
                                 const float scale, const float offset) {
  AscendQuant<T>(dstTensor, srcTensor, scale, offset, srcTensor.GetSize());
}
template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>
OPWRIGHT_INLINE void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor,
                                 const LocalTensor<uint8_t>&, const float scale, const float offset,
                                 const uint32_t calCount) {
  AscendQuant<T>(dstTensor, srcTensor, scale, offset, calCount);
}
template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>
OPWRIGHT_INLINE void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor,
                                 const LocalTensor<uint8_t>&, const float scale, const float offset) {
  AscendQuant<T>(dstTensor, srcTensor, scale, offset, srcTensor.GetSize());
}

// ---- a scale for each channel

template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>
OPWRIGHT_INLINE void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor,
                                 const LocalTensor<T>& scaleTensor, const LocalTensor<T>& offsetTensor,
                                 const uint32_t scaleCount, const uint32_t offsetCount, const uint32_t calCount) {
  if (scaleCount == 0 || offsetCount != scaleCount || calCount % scaleCount != 0) {
    machine::refuse("AscendQuant", "scaleCount is ", scaleCount, ", offsetCount ", offsetCount, ", calCount ", calCount,
                    "; allowed: as many offsets as scales, and calCount a multiple of that");
  }
  machine::advanced::Call call("AscendQuant");
  call.in("srcTensor", srcTensor, calCount);
  call.in("scaleTensor", scaleTensor, scaleCount);
  call.in("offsetTensor", offsetTensor, offsetCount);
  call.out("dstTensor", dstTensor, calCount);
  machine::advanced::quantise(dstTensor, srcTensor, scaleTensor.data(), scaleCount, offsetTensor.data(), offsetCount,
                              calCount);
}
template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>
OPWRIGHT_INLINE void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor,
                                 const LocalTensor<T>& scaleTensor, const T offset, const uint32_t scaleCount,
                                 const uint32_t calCount) {
  if (scaleCount == 0 || calCount % scaleCount != 0) {
    machine::refuse("AscendQuant", "scaleCount is ", scaleCount, ", calCount ", calCount,
                    "; allowed: calCount a multiple of scaleCount");
  }
  machine::advanced::Call call("AscendQuant");
  call.in("srcTensor", srcTensor, calCount);
  call.in("scaleTensor", scaleTensor, scaleCount);
  call.out("dstTensor", dstTensor, calCount);
  machine::advanced::quantise(dstTensor, srcTensor, scaleTensor.data(), scaleCount, &offset, 1, calCount);
}
template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>
OPWRIGHT_INLINE void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor,
                                 const LocalTensor<T>& scaleTensor, const LocalTensor<T>& offsetTensor) {
  AscendQuant<T>(dstTensor, srcTensor, scaleTensor, offsetTensor, scaleTensor.GetSize(), offsetTensor.GetSize(),
                 srcTensor.GetSize());
}
template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>
OPWRIGHT_INLINE void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor,
                                 const LocalTensor<T>& scaleTensor, const T offset) {
  AscendQuant<T>(dstTensor, srcTensor, scaleTensor, offset, scaleTensor.GetSize(), srcTensor.GetSize());
}
template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>
OPWRIGHT_INLINE void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor,
                                 const LocalTensor<uint8_t>&, const LocalTensor<T>& scaleTensor,
                                 const LocalTensor<T>& offsetTensor, const uint32_t scaleCount,
                                 const uint32_t offsetCount, const uint32_t calCount) {
  AscendQuant<T>(dstTensor, srcTensor, scaleTensor, offsetTensor, scaleCount, offsetCount, calCount);
}
template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>
OPWRIGHT_INLINE void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor,
                                 const LocalTensor<uint8_t>&, const LocalTensor<T>& scaleTensor, const T offset,
                                 const uint32_t scaleCount, const uint32_t calCount) {
  AscendQuant<T>(dstTensor, srcTensor, scaleTensor, offset, scaleCount, calCount);
}

// ---- AscendDequant

namespace machine::advanced {

// uint64_t holds a float in its low half.
template <class T>
OPWRIGHT_INLINE float dequantisation_scale(T scale) {
  if constexpr (std::is_same_v<T, uint64_t>) {
    const auto bits = static_cast<uint32_t>(scale);
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
  } else {
    return static_cast<float>(scale);
  }
}

template <class D, class Scale>
OPWRIGHT_INLINE void dequantise(const LocalTensor<D>& dst, const LocalTensor<int32_t>& src, DequantParams params,
                                bool single_row, const Scale* scales, bool one_scale, Call& call) {
  constexpr uint32_t kBlock = 32 / sizeof(D);
  if (single_row && params.m == 1 && params.calCount != 0 && params.calCount % kBlock == 0 &&
      params.n % params.calCount == 0) {
    params = {params.n / params.calCount, params.calCount, params.calCount};
  }
  if (params.calCount > params.n) {
    refuse("AscendDequant", "calCount is ", params.calCount, ", n ", params.n, "; allowed: at most n");
  }
  const uint32_t stride = (params.n + kBlock - 1) / kBlock * kBlock;
  call.in("srcTensor", src, uint64_t{params.m} * params.n);
  call.out("dstTensor", dst, uint64_t{params.m} * stride);
  for (uint32_t row = 0; row < params.m; ++row) {
    for (uint32_t i = 0; i < params.calCount; ++i) {
      const float scale = dequantisation_scale(scales[one_scale ? 0 : i]);
      dst.data()[uint64_t{row} * stride + i] =
          static_cast<D>(static_cast<float>(src.data()[uint64_t{row} * params.n + i]) * scale);
    }
  }
}

}  // namespace machine::advanced

template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
OPWRIGHT_INLINE void AscendDequant(const LocalTensor<dstT>& dstTensor, const LocalTensor<int32_t>& srcTensor,
                                   const LocalTensor<scaleT>& deqScale, DequantParams params) {
  machine::advanced::Call call("AscendDequant");
  call.in("deqScale", deqScale, params.calCount);
  machine::advanced::dequantise(dstTensor, srcTensor, params, mode == DeQuantMode::DEQUANT_WITH_SINGLE_ROW,
                                deqScale.data(), false, call);
}
template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
OPWRIGHT_INLINE void AscendDequant(const LocalTensor<dstT>& dstTensor, const LocalTensor<int32_t>& srcTensor,
                                   const LocalTensor<scaleT>& deqScale, const LocalTensor<uint8_t>&,
                                   DequantParams params) {
  AscendDequant<dstT, scaleT, mode>(dstTensor, srcTensor, deqScale, params);
}
template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
OPWRIGHT_INLINE void AscendDequant(const LocalTensor<dstT>& dstTensor, const LocalTensor<int32_t>& srcTensor,
                                   const scaleT deqScale, DequantParams params) {
  machine::advanced::Call call("AscendDequant");
  machine::advanced::dequantise(dstTensor, srcTensor, params, mode == DeQuantMode::DEQUANT_WITH_SINGLE_ROW, &deqScale,
                                true, call);
}
template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
OPWRIGHT_INLINE void AscendDequant(const LocalTensor<dstT>& dstTensor, const LocalTensor<int32_t>& srcTensor,
                                   const scaleT deqScale, const LocalTensor<uint8_t>&, DequantParams params) {
  AscendDequant<dstT, scaleT, mode>(dstTensor, srcTensor, deqScale, params);
}

// ---- AscendAntiQuant: (src + offset) * scale. src is [K, N]; turned, [N, K].

template <typename InputDataType, typename OutputDataType, bool isTranspose>
OPWRIGHT_INLINE void AscendAntiQuant(const LocalTensor<OutputDataType>& dst, const LocalTensor<InputDataType>& src,
                                     const LocalTensor<OutputDataType>& offset,
                                     const LocalTensor<OutputDataType>& scale, const uint32_t k,
                                     const AntiQuantShapeInfo& shapeInfo = {}) {
  using namespace machine::advanced;
  static_assert(std::is_same_v<InputDataType, int8_t>, "AscendAntiQuant: int8_t; see docs/ascend_c_instructions.md");
  AntiQuantShapeInfo shape = shapeInfo;
  if (shape.scaleHeight == 0 || shape.scaleWidth == 0) {
    // A kernel gives the shape of one of the two, which are alike.
    const ShapeInfo own = offset.GetShapeInfo().shapeDim != 0 ? offset.GetShapeInfo() : scale.GetShapeInfo();
    shape.scaleHeight = own.shapeDim > 1 ? own.shape[0] : 1;
    shape.scaleWidth = own.shapeDim > 1 ? own.shape[1] : own.shape[0];
  }
  const uint32_t n = isTranspose ? shape.scaleHeight : shape.scaleWidth;
  const uint32_t groups = isTranspose ? shape.scaleWidth : shape.scaleHeight;
  if (n == 0 || groups == 0 || k % groups != 0) {
    machine::refuse("AscendAntiQuant", "k is ", k, " with ", groups, " group(s) of scales for ", n,
                    " channels; allowed: k a multiple of the groups. Give shapeInfo");
  }
  const uint64_t count = uint64_t{k} * n;
  Call call("AscendAntiQuant");
  call.in("src", src, count);
  call.in("offset", offset, uint64_t{groups} * n);
  call.in("scale", scale, uint64_t{groups} * n);
  call.out("dst", dst, count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t row = i / (isTranspose ? k : n);
    const uint64_t column = i % (isTranspose ? k : n);
    const uint64_t factor = isTranspose ? row * groups + column / (k / groups) : row / (k / groups) * n + column;
    const float moved = static_cast<float>(src.data()[i]) + to_float(offset.data()[factor]);
    const float rounded = to_float(static_cast<OutputDataType>(moved));
    dst.data()[i] = static_cast<OutputDataType>(rounded * to_float(scale.data()[factor]));
  }
}
template <typename InputDataType, typename OutputDataType, bool isTranspose>
OPWRIGHT_INLINE void AscendAntiQuant(const LocalTensor<OutputDataType>& dst, const LocalTensor<InputDataType>& src,
                                     const LocalTensor<OutputDataType>& offset,
                                     const LocalTensor<OutputDataType>& scale, const LocalTensor<uint8_t>&,
                                     const uint32_t k, const AntiQuantShapeInfo& shapeInfo = {}) {
  AscendAntiQuant<InputDataType, OutputDataType, isTranspose>(dst, src, offset, scale, k, shapeInfo);
}
template <typename InputDataType, typename OutputDataType, bool isTranspose>
OPWRIGHT_INLINE void AscendAntiQuant(const LocalTensor<OutputDataType>& dst, const LocalTensor<InputDataType>& src,
                                     const OutputDataType offset, const OutputDataType scale, const uint32_t,
                                     const AntiQuantShapeInfo& = {}) {
  using namespace machine::advanced;
  static_assert(std::is_same_v<InputDataType, int8_t>, "AscendAntiQuant: int8_t; see docs/ascend_c_instructions.md");
  const uint32_t count = src.GetSize();
  Call call("AscendAntiQuant");
  call.in("src", src, count);
  call.out("dst", dst, count);
  for (uint32_t i = 0; i < count; ++i) {
    const float rounded = to_float(static_cast<OutputDataType>(static_cast<float>(src.data()[i]) + to_float(offset)));
    dst.data()[i] = static_cast<OutputDataType>(rounded * to_float(scale));
  }
}
template <typename InputDataType, typename OutputDataType, bool isTranspose>
OPWRIGHT_INLINE void AscendAntiQuant(const LocalTensor<OutputDataType>& dst, const LocalTensor<InputDataType>& src,
                                     const OutputDataType offset, const OutputDataType scale,
                                     const LocalTensor<uint8_t>&, const uint32_t k,
                                     const AntiQuantShapeInfo& shapeInfo = {}) {
  AscendAntiQuant<InputDataType, OutputDataType, isTranspose>(dst, src, offset, scale, k, shapeInfo);
}

}  // namespace AscendC
