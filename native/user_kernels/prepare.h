// native/user_kernels/prepare.h
// Phase 1 of a custom operator whose kernel is a reference function outside C++. The sources that opwright emits are
// made of it, so it includes nothing that is slow to compile.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "aclnn/acl_meta.h"

namespace opwright::user_kernels {

// The kind of an argument; native/user_kernels/view.h says how the reference function gets it.
enum class Kind : int32_t {
  kTensor,
  kTensorList,
  kScalar,
  kScalarList,
  kInts,
  kFloats,
  kBools,
  kText,
  kInt,
  kReal,
  kBool,
  kDtype,
};

struct Argument {
  const char* name;  // a string literal of a library that stays loaded
  Kind kind;
  bool input;            // a tensor that is only read
  bool required = true;  // null is an error
  const void* object = nullptr;
  int64_t integer = 0;
  double real = 0;
};

// One overload per C type. A tensor that is not const is written.
inline Argument required(const char* name, const aclTensor* tensor) {
  return {name, Kind::kTensor, true, true, tensor};
}
inline Argument required(const char* name, aclTensor* tensor) { return {name, Kind::kTensor, false, true, tensor}; }
inline Argument required(const char* name, const aclTensorList* list) {
  return {name, Kind::kTensorList, true, true, list};
}
inline Argument required(const char* name, aclTensorList* list) { return {name, Kind::kTensorList, false, true, list}; }
inline Argument required(const char* name, const aclScalar* value) { return {name, Kind::kScalar, false, true, value}; }
inline Argument required(const char* name, const aclScalarList* list) {
  return {name, Kind::kScalarList, false, true, list};
}
inline Argument required(const char* name, const aclIntArray* array) { return {name, Kind::kInts, false, true, array}; }
inline Argument required(const char* name, const aclFloatArray* array) {
  return {name, Kind::kFloats, false, true, array};
}
inline Argument required(const char* name, const aclBoolArray* array) {
  return {name, Kind::kBools, false, true, array};
}
inline Argument required(const char* name, const char* text) { return {name, Kind::kText, false, true, text}; }
inline Argument required(const char* name, aclDataType dtype) {
  return {name, Kind::kDtype, false, true, nullptr, static_cast<int64_t>(dtype)};
}
inline Argument required(const char* name, bool value) { return {name, Kind::kBool, false, true, nullptr, value}; }
inline Argument required(const char* name, float value) { return {name, Kind::kReal, false, true, nullptr, 0, value}; }
inline Argument required(const char* name, double value) { return {name, Kind::kReal, false, true, nullptr, 0, value}; }
template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer>>>
Argument required(const char* name, Integer value) {
  return {name, Kind::kInt, false, true, nullptr, static_cast<int64_t>(value)};
}

// Null stands for "not given".
template <class T>
Argument optional(const char* name, T* object) {
  Argument argument = required(name, object);
  argument.required = false;
  return argument;
}

// Checks and copies the arguments and makes the executor.
__attribute__((visibility("default"))) aclnnStatus prepare(const char* function,
                                                           std::initializer_list<Argument> arguments,
                                                           uint64_t* workspace_size, aclOpExecutor** executor) noexcept;

// Phase 2.
__attribute__((visibility("default"))) aclnnStatus execute(const char* function, void* workspace,
                                                           uint64_t workspace_size, aclOpExecutor* executor,
                                                           aclrtStream stream) noexcept;

}  // namespace opwright::user_kernels
