// host/tiling/high_level/temporary_space.h
// How much temporary space a function of the high-level API takes. On the twin none of them needs any: what these
// functions return keeps the order of magnitude that a kernel has to plan for, so that a kernel which allocates the
// least, or as much as is useful, is laid out as on the device. The device's own numbers are CANN's.
#pragma once

#include <algorithm>
#include <cstdint>

#include "graph/tensor.h"
#include "graph/types.h"
#include "tiling/platform/platform_ascendc.h"

namespace AscendC {

using TensorShape = ge::Shape;
using TensorDataType = ge::DataType;

namespace opwright {

inline constexpr uint32_t kRepeat = 256;     // bytes that one vector instruction takes
inline constexpr uint32_t kLiveBuffers = 4;  // temporary copies of the source
inline constexpr uint32_t kExtraBytes = 1024;

struct Space {
  uint32_t most;
  uint32_t least;
};

inline Space space_for(uint64_t elements, uint32_t type_size) {
  // half is computed as float.
  const uint64_t bytes = elements * std::max<uint32_t>(type_size, sizeof(float)) * kLiveBuffers + kExtraBytes;
  const uint32_t least = kRepeat * kLiveBuffers + kExtraBytes;
  const uint64_t most = std::min<uint64_t>(std::max<uint64_t>(bytes, least), UINT32_MAX);
  return {static_cast<uint32_t>(most), least};
}
inline Space space_for(const TensorShape& shape, uint32_t type_size) {
  return space_for(static_cast<uint64_t>(std::max<int64_t>(shape.GetShapeSize(), 1)), type_size);
}
// Functions over rows keep at least one row.
inline Space space_for_rows(const TensorShape& shape, uint32_t type_size) {
  const Space all = space_for(shape, type_size);
  const size_t dims = shape.GetDimNum();
  const auto row = static_cast<uint64_t>(dims == 0 ? 1 : std::max<int64_t>(shape.GetDim(dims - 1), 1));
  return {all.most, std::min(all.most, space_for(row, type_size).most)};
}
inline uint32_t size_of(TensorDataType type) { return std::max(1, ge::GetSizeByDataType(type)); }

}  // namespace opwright

#define OPWRIGHT_SPACE_OF_ELEMENTS(name)                                                                 \
  inline void name(const TensorShape& srcShape, const uint32_t typeSize, const bool, uint32_t& maxValue, \
                   uint32_t& minValue) {                                                                 \
    const opwright::Space space = opwright::space_for(srcShape, typeSize);                               \
    maxValue = space.most;                                                                               \
    minValue = space.least;                                                                              \
  }
#define OPWRIGHT_BUFFERS_OF_ELEMENTS(name)                                              \
  inline void name(const uint32_t, uint32_t& maxLiveNodeCount, uint32_t& extraBuffer) { \
    maxLiveNodeCount = opwright::kLiveBuffers;                                          \
    extraBuffer = opwright::kExtraBytes;                                                \
  }
#define OPWRIGHT_ELEMENTWISE_SPACE(name)               \
  OPWRIGHT_SPACE_OF_ELEMENTS(Get##name##MaxMinTmpSize) \
  OPWRIGHT_BUFFERS_OF_ELEMENTS(Get##name##TmpBufferFactorSize)
// Functions that also come with the platform.
#define OPWRIGHT_PLATFORM_SPACE(name)                                                                           \
  inline void Get##name##MaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const TensorShape& srcShape,   \
                                       const uint32_t typeSize, const bool isReuseSource, uint32_t& maxValue,   \
                                       uint32_t& minValue) {                                                    \
    Get##name##MaxMinTmpSize(srcShape, typeSize, isReuseSource, maxValue, minValue);                            \
  }                                                                                                             \
  inline void Get##name##TmpBufferFactorSize(const platform_ascendc::PlatformAscendC&, const uint32_t typeSize, \
                                             uint32_t& maxLiveNodeCount, uint32_t& extraBuffer) {               \
    Get##name##TmpBufferFactorSize(typeSize, maxLiveNodeCount, extraBuffer);                                    \
  }

OPWRIGHT_ELEMENTWISE_SPACE(Acos)
OPWRIGHT_ELEMENTWISE_SPACE(Acosh)
OPWRIGHT_ELEMENTWISE_SPACE(Asin)
OPWRIGHT_ELEMENTWISE_SPACE(Asinh)
OPWRIGHT_ELEMENTWISE_SPACE(Atan)
OPWRIGHT_ELEMENTWISE_SPACE(Atanh)
OPWRIGHT_ELEMENTWISE_SPACE(Axpy)
OPWRIGHT_ELEMENTWISE_SPACE(Ceil)
OPWRIGHT_ELEMENTWISE_SPACE(Clamp)
OPWRIGHT_ELEMENTWISE_SPACE(Cos)
OPWRIGHT_ELEMENTWISE_SPACE(Cosh)
OPWRIGHT_ELEMENTWISE_SPACE(Digamma)
OPWRIGHT_ELEMENTWISE_SPACE(Erf)
OPWRIGHT_ELEMENTWISE_SPACE(Erfc)
OPWRIGHT_ELEMENTWISE_SPACE(Exp)
OPWRIGHT_ELEMENTWISE_SPACE(Floor)
OPWRIGHT_ELEMENTWISE_SPACE(Fmod)
OPWRIGHT_ELEMENTWISE_SPACE(Frac)
OPWRIGHT_ELEMENTWISE_SPACE(GeGLU)
OPWRIGHT_ELEMENTWISE_SPACE(Lgamma)
OPWRIGHT_ELEMENTWISE_SPACE(Log)
OPWRIGHT_ELEMENTWISE_SPACE(Log10)
OPWRIGHT_ELEMENTWISE_SPACE(Log2)
OPWRIGHT_ELEMENTWISE_SPACE(ReGlu)
OPWRIGHT_ELEMENTWISE_SPACE(Round)
OPWRIGHT_ELEMENTWISE_SPACE(Sigmoid)
OPWRIGHT_ELEMENTWISE_SPACE(Sign)
OPWRIGHT_ELEMENTWISE_SPACE(Sin)
OPWRIGHT_ELEMENTWISE_SPACE(Sinh)
OPWRIGHT_ELEMENTWISE_SPACE(Tan)
OPWRIGHT_ELEMENTWISE_SPACE(Tanh)
OPWRIGHT_ELEMENTWISE_SPACE(Trunc)
OPWRIGHT_ELEMENTWISE_SPACE(Xor)
OPWRIGHT_ELEMENTWISE_SPACE(SwiGLU)
OPWRIGHT_ELEMENTWISE_SPACE(LayerNorm)
OPWRIGHT_ELEMENTWISE_SPACE(LayerNormGrad)
OPWRIGHT_ELEMENTWISE_SPACE(LayerNormGradBeta)
OPWRIGHT_ELEMENTWISE_SPACE(WelfordFinalize)
OPWRIGHT_ELEMENTWISE_SPACE(DropOut)
OPWRIGHT_ELEMENTWISE_SPACE(ReduceXorSum)
OPWRIGHT_SPACE_OF_ELEMENTS(GetSiluTmpSize)
OPWRIGHT_SPACE_OF_ELEMENTS(GetSwishTmpSize)
OPWRIGHT_PLATFORM_SPACE(Round)
#undef OPWRIGHT_PLATFORM_SPACE
#undef OPWRIGHT_ELEMENTWISE_SPACE
#undef OPWRIGHT_BUFFERS_OF_ELEMENTS
#undef OPWRIGHT_SPACE_OF_ELEMENTS

#define OPWRIGHT_PLAIN_SPACE(name)                                                                                 \
  inline void name(const TensorShape& srcShape, const uint32_t typeSize, uint32_t& maxValue, uint32_t& minValue) { \
    const opwright::Space space = opwright::space_for_rows(srcShape, typeSize);                                    \
    maxValue = space.most;                                                                                         \
    minValue = space.least;                                                                                        \
  }
OPWRIGHT_PLAIN_SPACE(GetAscendDequantMaxMinTmpSize)
OPWRIGHT_PLAIN_SPACE(GetAscendQuantMaxMinTmpSize)
OPWRIGHT_PLAIN_SPACE(GetGeluMaxMinTmpSize)
OPWRIGHT_PLAIN_SPACE(GetPadMaxMinTmpSize)
#undef OPWRIGHT_PLAIN_SPACE
inline uint32_t GetGeluMaxTmpSize(const TensorShape& srcShape, const uint32_t typeSize) {
  return opwright::space_for(srcShape, typeSize).most;
}
inline uint32_t GetGeluMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize) {
  return opwright::space_for(srcShape, typeSize).least;
}
inline void GetUnPadMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const TensorShape& srcShape,
                                  const uint32_t typeSize, uint32_t& maxValue, uint32_t& minValue) {
  GetPadMaxMinTmpSize(srcShape, typeSize, maxValue, minValue);
}
inline void GetSwiGLUMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, uint32_t& maxValue,
                                   uint32_t& minValue, const bool isReuseSource) {
  GetSwiGLUMaxMinTmpSize(srcShape, typeSize, isReuseSource, maxValue, minValue);
}
inline void GetPowerMaxMinTmpSize(const TensorShape& src0Shape, const TensorShape& src1Shape, const bool,
                                  const uint32_t typeSize, const bool, uint32_t& maxValue, uint32_t& minValue) {
  const bool first = src0Shape.GetShapeSize() >= src1Shape.GetShapeSize();
  const opwright::Space space = opwright::space_for(first ? src0Shape : src1Shape, typeSize);
  maxValue = space.most;
  minValue = space.least;
}
inline void GetPowerTmpBufferFactorSize(const bool, const bool, const bool, const uint32_t, uint32_t& maxLiveNodeCount,
                                        uint32_t& extraBuffer) {
  maxLiveNodeCount = opwright::kLiveBuffers;
  extraBuffer = opwright::kExtraBytes;
}
inline void GetCumSumMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool, const bool,
                                   uint32_t& maxValue, uint32_t& minValue) {
  const opwright::Space space = opwright::space_for_rows(srcShape, typeSize);
  maxValue = space.most;
  minValue = space.least;
}
inline void GetSumMaxMinTmpSize(const uint32_t n, const uint32_t typeSize, const bool, uint32_t& maxSize,
                                uint32_t& minSize) {
  maxSize = minSize = opwright::space_for(n, typeSize).most;
}
inline void GetMeanMaxMinTmpSize(const uint32_t n, const uint32_t typeSize, const uint32_t, const bool,
                                 uint32_t& maxValue, uint32_t& minValue) {
  maxValue = minValue = opwright::space_for(n, typeSize).most;
}
inline void GetMeanTmpBufferFactorSize(const uint32_t, uint32_t& maxLiveNodeCount, uint32_t& extraBuffer) {
  maxLiveNodeCount = opwright::kLiveBuffers;
  extraBuffer = opwright::kExtraBytes;
}
#define OPWRIGHT_REDUCTION_SPACE(name)                                                                           \
  template <class Pattern>                                                                                       \
  void Get##name##MaxMinTmpSize(const TensorShape& srcShape, const TensorDataType dataType, Pattern, bool, bool, \
                                uint32_t& maxValue, uint32_t& minValue) {                                        \
    const opwright::Space space = opwright::space_for_rows(srcShape, opwright::size_of(dataType));               \
    maxValue = space.most;                                                                                       \
    minValue = space.least;                                                                                      \
  }
OPWRIGHT_REDUCTION_SPACE(ReduceSum)
OPWRIGHT_REDUCTION_SPACE(ReduceMean)
OPWRIGHT_REDUCTION_SPACE(ReduceProd)
OPWRIGHT_REDUCTION_SPACE(ReduceMax)
OPWRIGHT_REDUCTION_SPACE(ReduceMin)
OPWRIGHT_REDUCTION_SPACE(ReduceAny)
OPWRIGHT_REDUCTION_SPACE(ReduceAll)
#undef OPWRIGHT_REDUCTION_SPACE

// Pairs of 8 bytes, twice.
inline uint32_t GetSortTmpSize(const platform_ascendc::PlatformAscendC&, const uint32_t elemCount, const uint32_t) {
  return elemCount * 16;
}
inline uint32_t GetConcatTmpSize(const platform_ascendc::PlatformAscendC&, const uint32_t elemCount, const uint32_t) {
  return elemCount * 16;
}
template <class Mode>
bool GetTopKMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const int32_t inner, const int32_t outter,
                          const bool, const bool, Mode, const bool, const uint32_t, uint32_t& maxValue,
                          uint32_t& minValue) {
  minValue = static_cast<uint32_t>(inner) * 24;
  maxValue = std::max(minValue, static_cast<uint32_t>(inner) * static_cast<uint32_t>(outter) * 4);
  return true;
}

inline void GetArangeMaxMinTmpSize(uint32_t& maxValue, uint32_t& minValue) { maxValue = minValue = 0; }
inline void GetArithProgressionMaxMinTmpSize(uint32_t& maxValue, uint32_t& minValue) { maxValue = minValue = 0; }
inline uint32_t GetDropOutMaxTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool) {
  return opwright::space_for(srcShape, typeSize).most;
}
inline uint32_t GetDropOutMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, const bool) {
  return opwright::space_for(srcShape, typeSize).least;
}

#define OPWRIGHT_SELECT_SPACE(name)                                                                                   \
  inline uint32_t Get##name##MaxTmpSize(const TensorShape& src0Shape, const TensorShape& src1Shape,                   \
                                        const uint32_t srcTypeSize, const TensorShape&, const uint32_t, const bool) { \
    return std::max(opwright::space_for(src0Shape, srcTypeSize).most,                                                 \
                    opwright::space_for(src1Shape, srcTypeSize).most);                                                \
  }                                                                                                                   \
  inline uint32_t Get##name##MinTmpSize(const TensorShape& src0Shape, const TensorShape&, const uint32_t srcTypeSize, \
                                        const TensorShape&, const uint32_t, const bool) {                             \
    return opwright::space_for(src0Shape, srcTypeSize).least;                                                         \
  }                                                                                                                   \
  inline void Get##name##MaxMinTmpSize(const TensorShape& src0Shape, const TensorShape& src1Shape,                    \
                                       const uint32_t srcTypeSize, const TensorShape& maskShape,                      \
                                       const uint32_t maskTypeSize, const bool isReuseMask, uint32_t& maxValue,       \
                                       uint32_t& minValue) {                                                          \
    maxValue = Get##name##MaxTmpSize(src0Shape, src1Shape, srcTypeSize, maskShape, maskTypeSize, isReuseMask);        \
    minValue = Get##name##MinTmpSize(src0Shape, src1Shape, srcTypeSize, maskShape, maskTypeSize, isReuseMask);        \
  }
OPWRIGHT_SELECT_SPACE(Select)
OPWRIGHT_SELECT_SPACE(SelectWithBytesMask)
#undef OPWRIGHT_SELECT_SPACE

inline void GetAscendAntiQuantMaxMinTmpSize(const TensorShape& srcShape, const TensorShape&, const bool, TensorDataType,
                                            TensorDataType outputDataType, uint32_t& maxValue, uint32_t& minValue) {
  const opwright::Space space = opwright::space_for(srcShape, opwright::size_of(outputDataType));
  maxValue = space.most;
  minValue = space.least;
}

// Sort of other products takes space of its own. CANN leaves the numbers as they were on Atlas A2, where Sort gets its
// space from the kernel; here they are 0.
enum class SortType { RADIX_SORT, MERGE_SORT };
struct SortConfig {
  SortType type = SortType::RADIX_SORT;
  bool isDescend = false;
  bool hasSrcIndex = false;
  bool hasDstIndex = false;
};
inline void GetSortMaxMinTmpSize(const TensorShape&, TensorDataType, TensorDataType, bool, const SortConfig&,
                                 uint32_t& maxValue, uint32_t& minValue) {
  maxValue = minValue = 0;
}

}  // namespace AscendC
