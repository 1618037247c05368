// host/tiling/high_level/functions.h
// Tiling functions of SoftMax, normalization and transforms: from shapes to the structures that kernels pass on. Each
// takes a class of optiling or a structure of AscendC::tiling.
#pragma once

#include "tiling/high_level/data.h"
#include "tiling/high_level/temporary_space.h"

namespace AscendC {
namespace opwright {

// A shape as rows of its last dimension.
struct RowsOf {
  explicit RowsOf(const TensorShape& shape) {
    const size_t dims = shape.GetDimNum();
    columns = dims == 0 ? 0 : static_cast<uint32_t>(shape.GetDim(dims - 1));
    rows = columns == 0 ? 0 : static_cast<uint32_t>(shape.GetShapeSize() / columns);
  }
  uint32_t rows = 0;
  uint32_t columns = 0;
};

template <class Plain>
Plain softmax_tiling(const TensorShape& shape, uint32_t type_size, uint32_t space) {
  const RowsOf all(shape);
  const uint32_t block = 32 / std::max<uint32_t>(type_size, 1);
  Plain plain;
  plain.srcM = all.rows;
  plain.srcK = all.columns;
  plain.srcSize = all.rows * all.columns;
  plain.outMaxM = all.rows;
  plain.outMaxK = block;
  plain.outMaxSize = all.rows * block;
  // As many rows at a time as the space takes.
  const uint32_t row_bytes = std::max<uint32_t>(all.columns * sizeof(float), 1);
  plain.splitM = std::clamp(space / row_bytes, 1u, std::max(all.rows, 1u));
  plain.splitK = all.columns;
  plain.splitSize = plain.splitM * all.columns;
  plain.reduceM = plain.splitM;
  plain.reduceK = block;
  plain.reduceSize = plain.splitM * block;
  plain.rangeM = all.rows / plain.splitM;
  plain.tailM = all.rows % plain.splitM;
  plain.tailSplitSize = plain.tailM * all.columns;
  plain.tailReduceSize = plain.tailM * block;
  return plain;
}

// [B, S, H] or [B, S, H, original H]: rows of H, of which the first original H elements count.
template <class Plain>
Plain norm_tiling(const TensorShape& shape, uint32_t original_h) {
  Plain plain;
  const size_t dims = shape.GetDimNum();
  const size_t h = dims > 3 ? 2 : dims - 1;
  const auto dim = [&shape](size_t index) { return static_cast<uint32_t>(shape.GetDim(index)); };
  plain.bLength = dims > 2 ? dim(0) : 1;
  plain.sLength = dims > 1 ? dim(h - 1) : 1;
  plain.hLength = dims > 0 ? dim(h) : 0;
  plain.originalHLength = original_h != 0 ? original_h : dims > 3 ? dim(3) : plain.hLength;
  return plain;
}
inline uint32_t last_of(const TensorShape& shape) {
  return shape.GetDimNum() == 0 ? 0 : static_cast<uint32_t>(shape.GetDim(shape.GetDimNum() - 1));
}

}  // namespace opwright

// ---- SoftMax

#define OPWRIGHT_ROW_SPACE(name, ...)                                                                            \
  inline uint32_t Get##name##MaxTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize, __VA_ARGS__) { \
    return opwright::space_for_rows(srcShape, dataTypeSize).most;                                                \
  }                                                                                                              \
  inline uint32_t Get##name##MinTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize, __VA_ARGS__) { \
    return opwright::space_for_rows(srcShape, dataTypeSize).least;                                               \
  }
OPWRIGHT_ROW_SPACE(SoftMax, const bool)
OPWRIGHT_ROW_SPACE(LogSoftMax, const bool)
OPWRIGHT_ROW_SPACE(SoftMaxFlash, const bool, const bool)
OPWRIGHT_ROW_SPACE(SoftMaxGrad, const bool, const bool)
OPWRIGHT_ROW_SPACE(SoftMaxFlashV2, const uint32_t, const bool, const bool = false, const bool = false)
#undef OPWRIGHT_ROW_SPACE
inline void GetSoftMaxFlashV3MaxMinTmpSize(const TensorShape& srcShape, const uint32_t dataTypeSize1, const uint32_t,
                                           uint32_t& maxValue, uint32_t& minValue, const bool, const bool = false) {
  const opwright::Space space = opwright::space_for_rows(srcShape, dataTypeSize1);
  maxValue = space.most;
  minValue = space.least;
}

template <class Tiling>
void SoftMaxTilingFunc(const TensorShape& srcShape, const uint32_t dataTypeSize, const uint32_t localWorkSpaceSize,
                       Tiling& softmaxTiling) {
  optiling::copy_tiling(softmaxTiling,
                        opwright::softmax_tiling<tiling::SoftMaxTiling>(srcShape, dataTypeSize, localWorkSpaceSize));
}
template <class Tiling>
void LogSoftMaxTilingFunc(const TensorShape& srcShape, const uint32_t dataTypeSize, const uint32_t localWorkSpaceSize,
                          Tiling& softmaxTiling) {
  optiling::copy_tiling(softmaxTiling,
                        opwright::softmax_tiling<tiling::LogSoftMaxTiling>(srcShape, dataTypeSize, localWorkSpaceSize));
}
template <class Tiling>
void SoftMaxFlashTilingFunc(const TensorShape& srcShape, const uint32_t dataTypeSize, const uint32_t localWorkSpaceSize,
                            Tiling& softmaxFlashTiling, const bool = false) {
  SoftMaxTilingFunc(srcShape, dataTypeSize, localWorkSpaceSize, softmaxFlashTiling);
}
template <class Tiling>
void SoftMaxFlashV2TilingFunc(const TensorShape& srcShape, const uint32_t dataTypeSize1, const uint32_t,
                              const uint32_t localWorkSpaceSize, Tiling& softmaxFlashTiling, const bool,
                              const bool = false, const bool = false) {
  SoftMaxTilingFunc(srcShape, dataTypeSize1, localWorkSpaceSize, softmaxFlashTiling);
}
template <class Tiling>
void SoftMaxFlashV3TilingFunc(const TensorShape& srcShape, const uint32_t dataTypeSize1, const uint32_t,
                              const uint32_t localWorkSpaceSize, Tiling& softmaxFlashV3Tiling, const bool,
                              const bool = false) {
  SoftMaxTilingFunc(srcShape, dataTypeSize1, localWorkSpaceSize, softmaxFlashV3Tiling);
}
template <class Tiling>
void SoftMaxGradTilingFunc(const TensorShape& srcShape, const uint32_t dataTypeSize, const uint32_t localWorkSpaceSize,
                           Tiling& softmaxGradTiling, const bool = false) {
  SoftMaxTilingFunc(srcShape, dataTypeSize, localWorkSpaceSize, softmaxGradTiling);
}
// Basic blocks only make the device faster; a kernel that asks gets the general form.
template <class Tiling>
bool IsBasicBlockInSoftMax(Tiling&, const uint32_t = 2) {
  return false;
}

// ---- normalization

inline void GetLayerNormMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool, const bool,
                                      const bool, uint32_t& maxValue, uint32_t& minValue) {
  const opwright::Space space = opwright::space_for_rows(srcShape, typeSize);
  maxValue = space.most;
  minValue = space.least;
}
template <class Tiling>
void GetLayerNormNDTilingInfo(const TensorShape& srcShape, const uint32_t, const uint32_t, const bool, Tiling& tiling) {
  optiling::copy_tiling(tiling, opwright::norm_tiling<tiling::LayerNormTiling>(srcShape, 0));
}
template <class Tiling>
void GetLayerNormNDTillingInfo(const TensorShape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize,
                               const bool isReuseSource, Tiling& tilling) {
  GetLayerNormNDTilingInfo(srcShape, stackBufferSize, typeSize, isReuseSource, tilling);
}
template <class Tiling>
void GetLayerNormNDTilingInfo(const TensorShape& srcShape, const uint32_t, const uint32_t, const bool, const bool,
                              Tiling& tiling) {
  const opwright::RowsOf all(srcShape);
  AscendC::tiling::LayerNormSeparateTiling plain;
  plain.aLength = all.rows;
  plain.rLength = all.columns;
  optiling::copy_tiling(tiling, plain);
}
template <class Tiling>
void GetLayerNormGradNDTilingInfo(const TensorShape srcShape, const uint32_t stackBufferSize, const uint32_t,
                                  const bool, Tiling& tiling) {
  auto plain = opwright::norm_tiling<AscendC::tiling::LayerNormGradTiling>(srcShape, 0);
  plain.stackBufferSize = stackBufferSize;
  optiling::copy_tiling(tiling, plain);
}
template <class Tiling>
void GetLayerNormGradBetaNDTilingInfo(const TensorShape srcShape, const uint32_t stackBufferSize, const uint32_t,
                                      const bool, Tiling& tiling) {
  auto plain = opwright::norm_tiling<AscendC::tiling::LayerNormGradBetaTiling>(srcShape, 0);
  plain.stackBufferSize = stackBufferSize;
  optiling::copy_tiling(tiling, plain);
}
inline void GetNormalizeMaxMinTmpSize(const TensorShape& srcShape, const uint32_t, const uint32_t typeSizeT, const bool,
                                      const bool, const bool, uint32_t& maxValue, uint32_t& minValue) {
  const opwright::Space space = opwright::space_for_rows(srcShape, typeSizeT);
  maxValue = space.most;
  minValue = space.least;
}
inline bool GetRmsNormMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, uint32_t& maxValue,
                                    uint32_t& minValue, const bool = false) {
  const opwright::Space space = opwright::space_for_rows(srcShape, typeSize);
  maxValue = space.most;
  minValue = space.least;
  return true;
}
template <class Tiling>
bool GetRmsNormTilingInfo(const TensorShape& srcShape, const TensorShape& originSrcShape, const uint32_t,
                          const uint32_t, Tiling& tiling, const bool = false) {
  auto plain = opwright::norm_tiling<AscendC::tiling::RmsNormTiling>(srcShape, opwright::last_of(originSrcShape));
  if (plain.originalHLength == 0) return false;
  plain.reciprocalOfHLength = 1.0f / static_cast<float>(plain.originalHLength);
  optiling::copy_tiling(tiling, plain);
  return true;
}
inline bool GetDeepNormMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool, const bool,
                                     uint32_t& maxValue, uint32_t& minValue) {
  return GetRmsNormMaxMinTmpSize(srcShape, typeSize, maxValue, minValue);
}
template <class Tiling>
bool GetDeepNormTilingInfo(const TensorShape& srcShape, const TensorShape& originSrcShape, const uint32_t,
                           const uint32_t, const bool, const bool, Tiling& tiling) {
  const auto plain =
      opwright::norm_tiling<AscendC::tiling::DeepNormTiling>(srcShape, opwright::last_of(originSrcShape));
  optiling::copy_tiling(tiling, plain);
  return plain.originalHLength != 0;
}
inline bool GetBatchNormMaxMinTmpSize(const TensorShape& srcShape, const TensorShape&, const uint32_t typeSize,
                                      const bool, uint32_t& maxValue, uint32_t& minValue, const bool = false) {
  return GetRmsNormMaxMinTmpSize(srcShape, typeSize, maxValue, minValue);
}
template <class Tiling>
bool GetBatchNormNDTilingInfo(const TensorShape& srcShape, const TensorShape& originSrcShape, const uint32_t,
                              const uint32_t, const bool, Tiling& tiling, const bool = false) {
  AscendC::tiling::BatchNormTiling plain;
  plain.originalBLength = originSrcShape.GetDimNum() == 0 ? 0 : static_cast<uint32_t>(originSrcShape.GetDim(0));
  const int64_t batches = srcShape.GetDimNum() == 0 ? 0 : srcShape.GetDim(0);
  if (batches <= 0 || plain.originalBLength == 0) return false;
  plain.meanVarSize = static_cast<uint32_t>(srcShape.GetShapeSize() / batches);
  optiling::copy_tiling(tiling, plain);
  return true;
}
inline void GetGroupNormMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool, const uint32_t,
                                      uint32_t& maxValue, uint32_t& minValue) {
  GetRmsNormMaxMinTmpSize(srcShape, typeSize, maxValue, minValue);
}
template <class Tiling>
void GetGroupNormNDTilingInfo(const TensorShape& srcShape, const uint32_t, const uint32_t typeSize, const bool,
                              const uint32_t groupNum, Tiling& tiling) {
  AscendC::tiling::GroupNormTiling plain;
  plain.n = static_cast<uint32_t>(srcShape.GetDim(0));
  plain.c = static_cast<uint32_t>(srcShape.GetDim(1));
  plain.hw = 1;
  for (size_t dim = 2; dim < srcShape.GetDimNum(); ++dim) plain.hw *= static_cast<uint32_t>(srcShape.GetDim(dim));
  plain.g = groupNum;
  plain.d = groupNum == 0 ? 0 : plain.c / groupNum;
  const uint32_t block = 32 / std::max<uint32_t>(typeSize, 1);
  plain.hwAlignSize = (plain.hw + block - 1) / block * block;
  plain.dhwAlignSize = plain.d * plain.hwAlignSize;
  optiling::copy_tiling(tiling, plain);
}
inline void GetWelfordUpdateMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSizeT, const uint32_t,
                                          const bool, const bool, uint32_t& maxValue, uint32_t& minValue) {
  GetRmsNormMaxMinTmpSize(srcShape, typeSizeT, maxValue, minValue);
}

// ---- transforms

template <class Tiling>
void PadTilingFunc(const TensorShape srcShape, const TensorShape oriSrcShape, const uint32_t, const uint32_t,
                   Tiling& tiling) {
  const opwright::RowsOf all(srcShape);
  const opwright::RowsOf original(oriSrcShape);
  AscendC::tiling::PadTiling plain;
  plain.srcHeight = all.rows;
  plain.srcWidth = all.columns;
  plain.srcOriHeight = original.rows;
  plain.srcOriWidth = original.columns;
  optiling::copy_tiling(tiling, plain);
}
// Types are the numbers of TransposeType; the older names are the same functions.
inline void GetTransposeMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const uint32_t,
                                      uint32_t& maxValue, uint32_t& minValue) {
  const opwright::Space space = opwright::space_for(srcShape, typeSize);
  maxValue = space.most;
  minValue = space.least;
}
inline void GetConfusionTransposeMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize,
                                               const uint32_t transposeTypeIn, uint32_t& maxValue, uint32_t& minValue) {
  GetTransposeMaxMinTmpSize(srcShape, typeSize, transposeTypeIn, maxValue, minValue);
}
template <class Tiling>
void GetTransposeTilingInfo(const TensorShape& srcShape, const uint32_t, const uint32_t, const uint32_t transposeTypeIn,
                            Tiling& tiling) {
  const auto axis = [&](size_t i) {
    return i < srcShape.GetDimNum() ? static_cast<uint32_t>(srcShape.GetDim(i)) : uint32_t{1};
  };
  AscendC::tiling::ConfusionTransposeTiling plain;
  plain.dims = static_cast<uint32_t>(srcShape.GetDimNum());
  plain.shape0 = axis(0);
  plain.shape1 = axis(1);
  plain.shape2 = axis(2);
  plain.shape3 = axis(3);
  plain.transposeType = transposeTypeIn;
  optiling::copy_tiling(tiling, plain);
}
template <class Tiling>
void GetConfusionTransposeTilingInfo(const TensorShape& srcShape, const uint32_t stackBufferSize,
                                     const uint32_t typeSize, const uint32_t transposeTypeIn, Tiling& tiling) {
  GetTransposeTilingInfo(srcShape, stackBufferSize, typeSize, transposeTypeIn, tiling);
}
template <class Tiling>
void GetConfusionTransposeOnlyTilingInfo(const TensorShape& srcShape, const uint32_t stackBufferSize,
                                         const uint32_t typeSize, Tiling& tiling) {
  constexpr uint32_t kOfMatrix = 7;
  GetTransposeTilingInfo(srcShape, stackBufferSize, typeSize, kOfMatrix, tiling);
}
template <class Mode, class Tiling>
bool TopKTilingFunc(const platform_ascendc::PlatformAscendC&, const int32_t inner, const int32_t outter,
                    const int32_t k, const uint32_t, const bool, Mode, const bool, Tiling& topKTiling) {
  if (inner <= 0 || outter <= 0 || k <= 0) return false;
  AscendC::tiling::TopkTiling plain;
  plain.innerDataSize = inner;
  plain.allDataSize = inner * outter;
  plain.sortRepeat = static_cast<uint32_t>(inner + 31) / 32;
  plain.kAlignFourBytes = (k + 7) / 8 * 8;
  plain.kAlignTwoBytes = (k + 15) / 16 * 16;
  optiling::copy_tiling(topKTiling, plain);
  return true;
}
template <class Tiling>
void UnPadTilingFunc(const TensorShape srcShape, const uint32_t, const uint32_t, Tiling& tiling) {
  const opwright::RowsOf all(srcShape);
  AscendC::tiling::UnPadTiling plain;
  plain.srcHeight = all.rows;
  plain.srcWidth = all.columns;
  optiling::copy_tiling(tiling, plain);
}

}  // namespace AscendC
