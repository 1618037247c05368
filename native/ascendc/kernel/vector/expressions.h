// native/ascendc/kernel/vector/expressions.h
// Whole tensors in expressions: dst = a + b, dst = a < b. The number of elements is the destination's.
#pragma once

#include "vector/compare.h"

namespace AscendC {
namespace machine::vector {

// Two tensors and what is to be done with them: done when it is assigned.
template <Operation operation, class T>
struct BinaryExpression {
  using IsVectorExpression = void;
  const LocalTensor<T>& first;
  const LocalTensor<T>& second;
  const char* api;

  OPWRIGHT_INLINE void assign(const LocalTensor<T>& dst) const {
    if constexpr (operation == Operation::kAnd || operation == Operation::kOr) {
      const uint64_t halves = sizeof(PrimT<T>) == 4 ? 2 : 1;
      bitwise<operation>(api, dst, first, second, dst.GetSize() * halves);
    } else {
      binary<operation>(api, dst, first, second, Lanes::all(dst.GetSize()), {});
    }
  }
};

template <class T>
struct CompareExpression {
  using IsVectorExpression = void;
  const LocalTensor<T>& first;
  const LocalTensor<T>& second;
  CMPMODE mode;

  // As many elements as the sources have.
  template <class U>
  OPWRIGHT_INLINE void assign(const LocalTensor<U>& dst) const {
    compare_tensors(dst, first, second, mode, Lanes::all(first.GetSize()), {});
  }
};

}  // namespace machine::vector

#define OPWRIGHT_EXPRESSION(symbol, Name)                                                                    \
  template <class T>                                                                                         \
  OPWRIGHT_INLINE machine::vector::BinaryExpression<machine::vector::Operation::k##Name, T> operator symbol( \
      const LocalTensor<T>& src0, const LocalTensor<T>& src1) {                                              \
    return {src0, src1, "operator" #symbol};                                                                 \
  }
OPWRIGHT_EXPRESSION(+, Add)
OPWRIGHT_EXPRESSION(-, Sub)
OPWRIGHT_EXPRESSION(*, Mul)
OPWRIGHT_EXPRESSION(/, Div)
OPWRIGHT_EXPRESSION(&, And)
OPWRIGHT_EXPRESSION(|, Or)
#undef OPWRIGHT_EXPRESSION

#define OPWRIGHT_COMPARISON(symbol, Mode)                                                             \
  template <class T>                                                                                  \
  OPWRIGHT_INLINE machine::vector::CompareExpression<T> operator symbol(const LocalTensor<T>& src0,   \
                                                                        const LocalTensor<T>& src1) { \
    return {src0, src1, CMPMODE::Mode};                                                               \
  }
OPWRIGHT_COMPARISON(<, LT)
OPWRIGHT_COMPARISON(>, GT)
OPWRIGHT_COMPARISON(<=, LE)
OPWRIGHT_COMPARISON(>=, GE)
OPWRIGHT_COMPARISON(==, EQ)
OPWRIGHT_COMPARISON(!=, NE)
#undef OPWRIGHT_COMPARISON

}  // namespace AscendC
