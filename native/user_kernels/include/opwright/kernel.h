// opwright/kernel.h
// A custom operator's kernel in C++, for the twin:
//
//   #include <ATen/ops/add.h>
//   #include <opwright/kernel.h>
//
//   OPWRIGHT_KERNEL(aclnnAddCustom, (In, x)(In, y)(Out, out), at::add_out(out, x, y))
//
// `opwright kernels show PROTOTYPE --cpp` writes such lines from REG_OP, OpDef or an aclnn signature. `opwright run
// --kernels FILE -- CMD` compiles the file and runs a command with it; `opwright kernels build FILE` only compiles.
//
// The parameters stand in the order of the aclnn function, each with its kind and its name. What the body sees:
//
//   In, OptIn                       const at::Tensor&, const std::optional<at::Tensor>&
//   Out, Ref, OptOut                at::Tensor&, to be written in place; undefined if an optional one is absent
//   TensorList, OptTensorList       std::vector<at::Tensor>&; a null entry is undefined, a null list is empty
//   OutList, OptOutList             the same, to be written
//   Scalar, OptScalar               const at::Scalar&, const std::optional<at::Scalar>&
//   ScalarList, OptScalarList       const std::vector<at::Scalar>&, const std::optional<std::vector<at::Scalar>>&
//   Ints, Floats, Bools             at::IntArrayRef, c10::ArrayRef<float>, c10::ArrayRef<uint8_t>
//   OptInts                         at::OptionalIntArrayRef
//   OptFloats, OptBools             const std::optional<std::vector<float>>&, … uint8_t
//   Text, OptText                   const std::string&, const std::optional<std::string>&
//   Int, Double, Bool, Dtype        int64_t, double, bool, at::ScalarType
//   Int8 … UInt64, Float            the C type of that name
//
// An exception that leaves the body is the task's error, reported with the function's name by the next call that
// synchronizes. The tensors are valid until the body returns.
#pragma once

#include "opapi/declare.h"

// Kinds that CANN's own functions do not need.
namespace opwright::opapi::kind {

using OptOutList = OptRefList;

using Int16 = Plain<int16_t>;
using UInt32 = Plain<uint32_t>;
using UInt16 = Plain<uint16_t>;
using UInt8 = Plain<uint8_t>;

// A kind whose argument may be null: its body sees std::optional of what the executor keeps.
template <class Required>
struct Optional : ValueKind<typename Required::C, std::optional<typename Required::Stored>,
                            const std::optional<typename Required::Stored>&> {
  using Kept = std::optional<typename Required::Stored>;
  static Kept keep(typename Required::C value, const char* name) {
    return value == nullptr ? Kept() : Kept(Required::keep(value, name));
  }
  static std::string describe(const Kept& value) { return value ? Required::describe(*value) : "null"; }
  static void sign(const Kept& value, Signature& signature) {
    if (value) {
      Required::sign(*value, signature);
    } else {
      signature.add_absent();
    }
  }
};
using OptScalarList = Optional<ScalarList>;
using OptFloats = Optional<Floats>;
using OptBools = Optional<Bools>;
using OptText = Optional<Text>;

}  // namespace opwright::opapi::kind

// The parameters are exported as a text, too: the graph engine reads there what a function takes.
#define OPWRIGHT_KERNEL(FUNCTION, PARAMS, ...)                         \
  extern "C" OPWRIGHT_API const char opwright_parameters_##FUNCTION[]; \
  const char opwright_parameters_##FUNCTION[] = OPWRIGHT_TEXT(PARAMS); \
  OPWRIGHT_DEFINE_FUNCTION(FUNCTION, false, PARAMS, __VA_ARGS__)
#define OPWRIGHT_TEXT(...) #__VA_ARGS__
