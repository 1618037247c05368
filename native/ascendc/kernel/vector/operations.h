// native/ascendc/kernel/vector/operations.h
// The operations of vector/table.h as names, and which element types each of them takes.
#pragma once

#include "vector/lanes.h"
#include "vector/table.h"

namespace AscendC::machine::vector {

enum class Operation : uint8_t {
  // one source
  kAbs,
  kExp,
  kLn,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kRelu,
  kNot,
  // two sources
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,
  kMin,
  kAnd,
  kOr,
  kAddRelu,
  kSubRelu,
  kAddReluCast,
  kSubReluCast,
  kAddDeqRelu,
  kMulCast,
  kMulAddDst,
  kFusedMulAdd,
  kMulAddRelu,
  // a source and a scalar
  kAdds,
  kMuls,
  kMaxs,
  kMins,
  kLeakyRelu,
  kShiftLeft,
  kShiftRight,
  kAxpy,
  // conversion
  kCast,
};

// Operations that also read their destination.
constexpr bool accumulates(Operation operation) {
  return operation == Operation::kMulAddDst || operation == Operation::kFusedMulAdd ||
         operation == Operation::kMulAddRelu || operation == Operation::kAxpy;
}

template <Operation operation, class D, class S>
inline constexpr bool kSupported = false;
#define OPWRIGHT_ROW(operation, D, S) \
  template <>                         \
  inline constexpr bool kSupported<Operation::k##operation, D, S> = true;
OPWRIGHT_VECTOR_ROWS(OPWRIGHT_ROW)
#undef OPWRIGHT_ROW

// The arithmetic of a row, for lanes that lie one behind the other. In libascendc_runtime.
template <Operation operation, class D, class S>
OPWRIGHT_RUNTIME void compute(uint32_t count, void* dst, const void* const* sources, const Arguments& arguments);

// One instruction of a row of the table.
template <Operation operation, class D, class S, size_t kSources>
OPWRIGHT_INLINE void issue(const char* api, const Operand& dst, const Operand (&sources)[kSources], const Lanes& lanes,
                           const Arguments& arguments = {}) {
  static_assert(kSupported<operation, D, S>,
                "this instruction does not take these element types on Atlas A2: docs/ascend_c_instructions.md lists "
                "what it takes");
  Instruction instruction(Pipe::kVector, api);
  if constexpr (kSupported<operation, D, S>) {
    run(instruction, api, compute<operation, D, S>, dst, sources, kSources, lanes, arguments);
  }
}

}  // namespace AscendC::machine::vector
