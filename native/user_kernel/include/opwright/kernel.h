// opwright/kernel.h
// A custom operator's kernel in C++, for the twin:
//
//   #include <ATen/ops/add.h>
//   #include <opwright/kernel.h>
//
//   OPWRIGHT_KERNEL(aclnnAddCustom, (In, x)(In, y)(Out, out), at::add_out(out, x, y))
//
// `opwright kernels build FILE` makes the library of such a file, `opwright run --kernels FILE -- CMD` makes and uses
// it. The parameters stand in the order of the aclnn function, each with its kind (native/opapi/kinds.h lists them) and
// what the body sees:
//
//   In, OptIn            const at::Tensor&, const std::optional<at::Tensor>&
//   Out, OptOut, Ref     at::Tensor&, to be written in place; undefined if an optional one is absent
//   TensorList, OutList  std::vector<at::Tensor>&
//   Scalar, OptScalar    const at::Scalar&, const std::optional<at::Scalar>&
//   Ints, Floats, Bools  at::IntArrayRef, c10::ArrayRef<float>, c10::ArrayRef<uint8_t>; OptInts
//   Int, Double, Bool    int64_t, double, bool; also Int32, UInt64, Float
//   Text, Dtype          const std::string&, at::ScalarType
//
// An exception that leaves the body is the task's error, reported with the function's name by the next call that
// synchronizes. The tensors are valid until the body returns.
#pragma once

#include "opapi/declare.h"
