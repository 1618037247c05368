// native/user_kernels/view.h
// The C form in which a reference function in another language gets its arguments, and the functions with which that
// language takes part. opwright/twin/user_kernels/arguments.py has the same layout in ctypes.
#pragma once

#include <cstdint>

#include "runtime/error.h"
#include "user_kernels/prepare.h"

namespace opwright::user_kernels {

struct TensorView {
  int32_t dtype;    // aclDataType
  int32_t present;  // 0: null was passed
  int64_t rank;
  const int64_t* sizes;
  const int64_t* strides;  // elements
  int64_t offset;          // elements from `storage`
  void* storage;           // host alias of the device memory; null if there is none
  uint64_t storage_bytes;
};

struct ScalarView {
  int32_t dtype;  // aclDataType
  int32_t reserved;
  unsigned char value[16];
};

// `items` points to `count` elements: kTensor, kTensorList: TensorView; kScalar, kScalarList: ScalarView; kInts: int64;
// kFloats: float; kBools: one byte each; kText: char. kInt, kBool, kDtype are in `integer`, kReal is in `real`.
struct ArgumentView {
  const char* name;
  Kind kind;
  int32_t present;  // 0: null was passed
  uint64_t count;
  const void* items;
  int64_t integer;
  double real;
};

// Runs the reference function of `function`; reports an error with opwright_kernel_fail before it returns.
using Dispatcher = void (*)(const char* function, const ArgumentView* arguments, uint64_t count, void* failure);

}  // namespace opwright::user_kernels

extern "C" {

// Makes `dispatcher` the one that runs `function`. Replaces an earlier one. The dispatcher itself reports a function
// that it has no longer.
OPWRIGHT_API void opwright_kernel_add(const char* function, opwright::user_kernels::Dispatcher dispatcher);

// Called by a dispatcher: the task fails with this text. `failure` is what the dispatcher was given.
OPWRIGHT_API void opwright_kernel_fail(void* failure, const char* text);

// Waits for all streams, then lets no dispatcher run any more: the language's runtime is about to end.
OPWRIGHT_API void opwright_kernel_close();
}
