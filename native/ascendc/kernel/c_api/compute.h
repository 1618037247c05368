// native/ascendc/kernel/c_api/compute.h
// Vector instructions, in three forms: `count` elements; the same and a wait; repeats of 256 bytes under the mask that
// is set, with strides in blocks of 32 bytes.
#pragma once

#include "c_api/operands.h"

// ROW(function, instruction of the C++ API)
#define OPWRIGHT_C_API_BINARY(ROW)       \
  ROW(asc_add, Add)                      \
  ROW(asc_sub, Sub)                      \
  ROW(asc_mul, Mul)                      \
  ROW(asc_div, Div)                      \
  ROW(asc_max, Max)                      \
  ROW(asc_min, Min)                      \
  ROW(asc_and, And)                      \
  ROW(asc_or, Or)                        \
  ROW(asc_add_relu, AddRelu)             \
  ROW(asc_sub_relu, SubRelu)             \
  ROW(asc_mul_add, FusedMulAdd)          \
  ROW(asc_mul_add_relu, FusedMulAddRelu) \
  ROW(asc_fma, MulAddDst)
#define OPWRIGHT_C_API_UNARY(ROW) \
  ROW(asc_abs, Abs)               \
  ROW(asc_exp, Exp)               \
  ROW(asc_log, Ln)                \
  ROW(asc_sqrt, Sqrt)             \
  ROW(asc_rsqrt, Rsqrt)           \
  ROW(asc_rcp, Reciprocal)        \
  ROW(asc_relu, Relu)             \
  ROW(asc_not, Not)
#define OPWRIGHT_C_API_SCALAR(ROW) \
  ROW(asc_add_scalar, Adds)        \
  ROW(asc_mul_scalar, Muls)        \
  ROW(asc_max_scalar, Maxs)        \
  ROW(asc_min_scalar, Mins)        \
  ROW(asc_leakyrelu, LeakyRelu)

namespace AscendC::machine {

// Keeps a scalar operand from deciding the type.
template <class T>
struct Same {
  using Type = T;
};

}  // namespace AscendC::machine

#define OPWRIGHT_C_API_FUNCTIONS(name, Operation)                                                                  \
  template <class T>                                                                                               \
  OPWRIGHT_INLINE void name(__ubuf__ T* dst, __ubuf__ T* src0, __ubuf__ T* src1, uint32_t count) {                 \
    using namespace AscendC::machine;                                                                              \
    AscendC::Operation(local_operand(dst), local_operand(src0), local_operand(src1), static_cast<int32_t>(count)); \
  }                                                                                                                \
  template <class T>                                                                                               \
  OPWRIGHT_INLINE void name##_sync(__ubuf__ T* dst, __ubuf__ T* src0, __ubuf__ T* src1, uint32_t count) {          \
    name(dst, src0, src1, count);                                                                                  \
    asc_sync();                                                                                                    \
  }                                                                                                                \
  template <class T>                                                                                               \
  OPWRIGHT_INLINE void name(__ubuf__ T* dst, __ubuf__ T* src0, __ubuf__ T* src1, uint8_t repeat,                   \
                            uint8_t dst_block_stride, uint8_t src0_block_stride, uint8_t src1_block_stride,        \
                            uint8_t dst_repeat_stride, uint8_t src0_repeat_stride, uint8_t src1_repeat_stride) {   \
    using namespace AscendC::machine;                                                                              \
    AscendC::Operation<T, false>(                                                                                  \
        local_operand(dst), local_operand(src0), local_operand(src1), AscendC::MASK_PLACEHOLDER, repeat,           \
        AscendC::BinaryRepeatParams(dst_block_stride, src0_block_stride, src1_block_stride, dst_repeat_stride,     \
                                    src0_repeat_stride, src1_repeat_stride));                                      \
  }
OPWRIGHT_C_API_BINARY(OPWRIGHT_C_API_FUNCTIONS)
#undef OPWRIGHT_C_API_FUNCTIONS

#define OPWRIGHT_C_API_FUNCTIONS(name, Operation)                                                                \
  template <class T>                                                                                             \
  OPWRIGHT_INLINE void name(__ubuf__ T* dst, __ubuf__ T* src, uint32_t count) {                                  \
    using namespace AscendC::machine;                                                                            \
    AscendC::Operation(local_operand(dst), local_operand(src), static_cast<int32_t>(count));                     \
  }                                                                                                              \
  template <class T>                                                                                             \
  OPWRIGHT_INLINE void name##_sync(__ubuf__ T* dst, __ubuf__ T* src, uint32_t count) {                           \
    name(dst, src, count);                                                                                       \
    asc_sync();                                                                                                  \
  }                                                                                                              \
  template <class T>                                                                                             \
  OPWRIGHT_INLINE void name(__ubuf__ T* dst, __ubuf__ T* src, uint8_t repeat, uint16_t dst_block_stride,         \
                            uint16_t src_block_stride, uint16_t dst_repeat_stride, uint16_t src_repeat_stride) { \
    using namespace AscendC::machine;                                                                            \
    AscendC::Operation<T, false>(                                                                                \
        local_operand(dst), local_operand(src), AscendC::MASK_PLACEHOLDER, repeat,                               \
        AscendC::UnaryRepeatParams(dst_block_stride, src_block_stride, static_cast<uint8_t>(dst_repeat_stride),  \
                                   static_cast<uint8_t>(src_repeat_stride)));                                    \
  }
OPWRIGHT_C_API_UNARY(OPWRIGHT_C_API_FUNCTIONS)
#undef OPWRIGHT_C_API_FUNCTIONS

#define OPWRIGHT_C_API_FUNCTIONS(name, Operation)                                                                    \
  template <class T>                                                                                                 \
  OPWRIGHT_INLINE void name(__ubuf__ T* dst, __ubuf__ T* src, typename AscendC::machine::Same<T>::Type value,        \
                            uint32_t count) {                                                                        \
    using namespace AscendC::machine;                                                                                \
    AscendC::Operation(local_operand(dst), local_operand(src), value, static_cast<int32_t>(count));                  \
  }                                                                                                                  \
  template <class T>                                                                                                 \
  OPWRIGHT_INLINE void name##_sync(__ubuf__ T* dst, __ubuf__ T* src, typename AscendC::machine::Same<T>::Type value, \
                                   uint32_t count) {                                                                 \
    name(dst, src, value, count);                                                                                    \
    asc_sync();                                                                                                      \
  }                                                                                                                  \
  template <class T>                                                                                                 \
  OPWRIGHT_INLINE void name(__ubuf__ T* dst, __ubuf__ T* src, typename AscendC::machine::Same<T>::Type value,        \
                            uint8_t repeat, uint16_t dst_block_stride, uint16_t src_block_stride,                    \
                            uint16_t dst_repeat_stride, uint16_t src_repeat_stride) {                                \
    using namespace AscendC::machine;                                                                                \
    AscendC::Operation<T, false>(                                                                                    \
        local_operand(dst), local_operand(src), value, AscendC::MASK_PLACEHOLDER, repeat,                            \
        AscendC::UnaryRepeatParams(dst_block_stride, src_block_stride, static_cast<uint8_t>(dst_repeat_stride),      \
                                   static_cast<uint8_t>(src_repeat_stride)));                                        \
  }
OPWRIGHT_C_API_SCALAR(OPWRIGHT_C_API_FUNCTIONS)
#undef OPWRIGHT_C_API_FUNCTIONS

template <class T>
OPWRIGHT_INLINE void asc_duplicate(__ubuf__ T* dst, typename AscendC::machine::Same<T>::Type src, uint32_t count) {
  AscendC::Duplicate(AscendC::machine::local_operand(dst), src, static_cast<int32_t>(count));
}
template <class T>
OPWRIGHT_INLINE void asc_duplicate_sync(__ubuf__ T* dst, typename AscendC::machine::Same<T>::Type src, uint32_t count) {
  asc_duplicate(dst, src, count);
  asc_sync();
}

OPWRIGHT_INLINE void asc_set_mask_count() { AscendC::SetMaskCount(); }
OPWRIGHT_INLINE void asc_set_mask_norm() { AscendC::SetMaskNorm(); }
OPWRIGHT_INLINE void asc_set_vector_mask(uint64_t mask1, uint64_t mask0) {
  AscendC::SetVectorMask<uint8_t>(mask1, mask0);
}
