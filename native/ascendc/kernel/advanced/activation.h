// native/ascendc/kernel/advanced/activation.h
// Activation functions of the high-level API. (Sigmoid, GeGLU and ReGlu have the forms of math.h.)
#pragma once

#include "advanced/math.h"

namespace AscendC {

#define OPWRIGHT_GELU_FUNCTION(name)                                                                                   \
  template <typename T, bool highPrecision = false, bool highPerformance = false>                                      \
  OPWRIGHT_INLINE void name(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,                            \
                            const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t dataSize) {                    \
    machine::advanced::unary(#name, machine::advanced::Unary::k##name, dstLocal, srcLocal, dataSize, 0.0f,             \
                             &sharedTmpBuffer);                                                                        \
  }                                                                                                                    \
  template <typename T, bool highPrecision = false, bool highPerformance = false>                                      \
  OPWRIGHT_INLINE void name(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const uint32_t dataSize) { \
    machine::advanced::unary(#name, machine::advanced::Unary::k##name, dstLocal, srcLocal, dataSize);                  \
  }
OPWRIGHT_GELU_FUNCTION(Gelu)
OPWRIGHT_GELU_FUNCTION(FasterGelu)
OPWRIGHT_GELU_FUNCTION(FasterGeluV2)
#undef OPWRIGHT_GELU_FUNCTION

template <typename T, bool isReuseSource = false>
OPWRIGHT_INLINE void Silu(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, uint32_t dataSize) {
  machine::advanced::unary("Silu", machine::advanced::Unary::kSilu, dstLocal, srcLocal, dataSize);
}
template <typename T, bool isReuseSource = false>
OPWRIGHT_INLINE void Swish(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, uint32_t dataSize,
                           const T scalarValue) {
  machine::advanced::unary("Swish", machine::advanced::Unary::kSwish, dstLocal, srcLocal, dataSize,
                           static_cast<float>(scalarValue));
}

template <typename T, bool isReuseSource = false>
OPWRIGHT_INLINE void SwiGLU(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor0,
                            const LocalTensor<T>& srcTensor1, const float& scalarValue,
                            const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount) {
  machine::advanced::binary("SwiGLU", machine::advanced::Binary::kSwiGLU, dstTensor, srcTensor0, srcTensor1, calCount,
                            scalarValue, &sharedTmpBuffer);
}
template <typename T, bool isReuseSource = false>
OPWRIGHT_INLINE void SwiGLU(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor0,
                            const LocalTensor<T>& srcTensor1, const float& scalarValue,
                            const LocalTensor<uint8_t>& sharedTmpBuffer) {
  SwiGLU<T>(dstTensor, srcTensor0, srcTensor1, scalarValue, sharedTmpBuffer, srcTensor0.GetSize());
}
template <typename T, bool isReuseSource = false>
OPWRIGHT_INLINE void SwiGLU(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor0,
                            const LocalTensor<T>& srcTensor1, const float& scalarValue, const uint32_t calCount) {
  machine::advanced::binary("SwiGLU", machine::advanced::Binary::kSwiGLU, dstTensor, srcTensor0, srcTensor1, calCount,
                            scalarValue);
}
template <typename T, bool isReuseSource = false>
OPWRIGHT_INLINE void SwiGLU(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor0,
                            const LocalTensor<T>& srcTensor1, const float& scalarValue) {
  SwiGLU<T>(dstTensor, srcTensor0, srcTensor1, scalarValue, srcTensor0.GetSize());
}

}  // namespace AscendC
