// native/ascendc/kernel/vector/table.h
// The operations that work lane by lane, with the element types that the documentation of Atlas A2 lists for each:
// ROW(operation, destination, source). libascendc_runtime instantiates one function per row; a call with other types
// does not compile.
#pragma once

#define OPWRIGHT_VECTOR_UNARY_ROWS(ROW) \
  ROW(Abs, half, half)                  \
  ROW(Abs, float, float)                \
  ROW(Exp, half, half)                  \
  ROW(Exp, float, float)                \
  ROW(Ln, half, half)                   \
  ROW(Ln, float, float)                 \
  ROW(Sqrt, half, half)                 \
  ROW(Sqrt, float, float)               \
  ROW(Rsqrt, half, half)                \
  ROW(Rsqrt, float, float)              \
  ROW(Reciprocal, half, half)           \
  ROW(Reciprocal, float, float)         \
  ROW(Relu, half, half)                 \
  ROW(Relu, float, float)               \
  ROW(Relu, int32_t, int32_t)           \
  ROW(Not, int16_t, int16_t)            \
  ROW(Not, uint16_t, uint16_t)

#define OPWRIGHT_VECTOR_FOUR_TYPES(ROW, operation) \
  ROW(operation, half, half)                       \
  ROW(operation, float, float)                     \
  ROW(operation, int16_t, int16_t)                 \
  ROW(operation, int32_t, int32_t)

#define OPWRIGHT_VECTOR_BINARY_ROWS(ROW) \
  OPWRIGHT_VECTOR_FOUR_TYPES(ROW, Add)   \
  OPWRIGHT_VECTOR_FOUR_TYPES(ROW, Sub)   \
  OPWRIGHT_VECTOR_FOUR_TYPES(ROW, Mul)   \
  OPWRIGHT_VECTOR_FOUR_TYPES(ROW, Max)   \
  OPWRIGHT_VECTOR_FOUR_TYPES(ROW, Min)   \
  ROW(Div, half, half)                   \
  ROW(Div, float, float)                 \
  ROW(And, int16_t, int16_t)             \
  ROW(And, uint16_t, uint16_t)           \
  ROW(Or, int16_t, int16_t)              \
  ROW(Or, uint16_t, uint16_t)            \
  ROW(AddRelu, half, half)               \
  ROW(AddRelu, float, float)             \
  ROW(AddRelu, int16_t, int16_t)         \
  ROW(SubRelu, half, half)               \
  ROW(SubRelu, float, float)             \
  ROW(SubRelu, int16_t, int16_t)         \
  ROW(AddReluCast, int8_t, half)         \
  ROW(AddReluCast, int8_t, int16_t)      \
  ROW(AddReluCast, half, float)          \
  ROW(SubReluCast, int8_t, half)         \
  ROW(SubReluCast, int8_t, int16_t)      \
  ROW(SubReluCast, half, float)          \
  ROW(AddDeqRelu, half, int32_t)         \
  ROW(MulCast, int8_t, half)             \
  ROW(MulCast, uint8_t, half)            \
  ROW(MulAddDst, half, half)             \
  ROW(MulAddDst, float, float)           \
  ROW(MulAddDst, float, half)            \
  ROW(FusedMulAdd, half, half)           \
  ROW(FusedMulAdd, float, float)         \
  ROW(MulAddRelu, half, half)            \
  ROW(MulAddRelu, float, float)

#define OPWRIGHT_VECTOR_SCALAR_ROWS(ROW) \
  OPWRIGHT_VECTOR_FOUR_TYPES(ROW, Adds)  \
  OPWRIGHT_VECTOR_FOUR_TYPES(ROW, Muls)  \
  OPWRIGHT_VECTOR_FOUR_TYPES(ROW, Maxs)  \
  OPWRIGHT_VECTOR_FOUR_TYPES(ROW, Mins)  \
  ROW(LeakyRelu, half, half)             \
  ROW(LeakyRelu, float, float)           \
  ROW(ShiftLeft, int16_t, int16_t)       \
  ROW(ShiftLeft, uint16_t, uint16_t)     \
  ROW(ShiftLeft, int32_t, int32_t)       \
  ROW(ShiftLeft, uint32_t, uint32_t)     \
  ROW(ShiftRight, int16_t, int16_t)      \
  ROW(ShiftRight, uint16_t, uint16_t)    \
  ROW(ShiftRight, int32_t, int32_t)      \
  ROW(ShiftRight, uint32_t, uint32_t)    \
  ROW(Axpy, half, half)                  \
  ROW(Axpy, float, float)                \
  ROW(Axpy, float, half)

// Cast: what a conversion may round with is in cast_modes.
#define OPWRIGHT_VECTOR_CAST_ROWS(ROW) \
  ROW(Cast, half, int4b_t)             \
  ROW(Cast, half, int8_t)              \
  ROW(Cast, half, uint8_t)             \
  ROW(Cast, half, int16_t)             \
  ROW(Cast, float, int16_t)            \
  ROW(Cast, int4b_t, half)             \
  ROW(Cast, int8_t, half)              \
  ROW(Cast, uint8_t, half)             \
  ROW(Cast, int16_t, half)             \
  ROW(Cast, int32_t, half)             \
  ROW(Cast, float, half)               \
  ROW(Cast, int32_t, bfloat16_t)       \
  ROW(Cast, float, bfloat16_t)         \
  ROW(Cast, int16_t, int32_t)          \
  ROW(Cast, half, int32_t)             \
  ROW(Cast, float, int32_t)            \
  ROW(Cast, int64_t, int32_t)          \
  ROW(Cast, int16_t, float)            \
  ROW(Cast, half, float)               \
  ROW(Cast, bfloat16_t, float)         \
  ROW(Cast, int32_t, float)            \
  ROW(Cast, float, float)              \
  ROW(Cast, int64_t, float)            \
  ROW(Cast, int32_t, int64_t)          \
  ROW(Cast, float, int64_t)

#define OPWRIGHT_VECTOR_ROWS(ROW)  \
  OPWRIGHT_VECTOR_UNARY_ROWS(ROW)  \
  OPWRIGHT_VECTOR_BINARY_ROWS(ROW) \
  OPWRIGHT_VECTOR_SCALAR_ROWS(ROW) \
  OPWRIGHT_VECTOR_CAST_ROWS(ROW)
