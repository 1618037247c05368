// log/invalid.h
// Messages about parameters that do not fit: OP_LOGE_FOR_INVALID_DTYPE(name, "x", "DT_INT8", "DT_FLOAT").
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "log/line.h"

namespace opwright::ascendc {

// The value of a parameter, which callers give as a text or as a number.
class Given {
 public:
  Given(std::string text) : text_(std::move(text)) {}  // NOLINT: implicit
  Given(const char* text) : text_(text) {}             // NOLINT: implicit
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Given(T number) : text_(std::to_string(number)) {}  // NOLINT: implicit
  const char* text() const { return text_.c_str(); }

 private:
  std::string text_;
};

inline void log_invalid(const char* function, int line, const std::string& name, const std::string& parameter,
                        const char* what, const Given& got, const char* introduction, const std::string& why) {
  log(LogLevel::kError, function, line, name, "%s: %s is %s; %s%s", parameter.c_str(), what, got.text(), introduction,
      why.c_str());
}

}  // namespace opwright::ascendc

#define OPWRIGHT_LOG_INVALID(name, parameter, what, got, introduction, why) \
  ::opwright::ascendc::log_invalid(__func__, __LINE__, name, parameter, what, got, introduction, why)

#define OP_LOGE_FOR_INVALID_SHAPE(name, parameter, got, allowed) \
  OPWRIGHT_LOG_INVALID(name, parameter, "shape", got, "allowed: ", allowed)
#define OP_LOGE_FOR_INVALID_SHAPE_WITH_REASON(name, parameter, got, reason) \
  OPWRIGHT_LOG_INVALID(name, parameter, "shape", got, "", reason)
#define OP_LOGE_FOR_INVALID_SHAPES_WITH_REASON(name, parameter, got, reason) \
  OPWRIGHT_LOG_INVALID(name, parameter, "shape", got, "", reason)
#define OP_LOGE_FOR_INVALID_SHAPEDIM(name, parameter, got, allowed) \
  OPWRIGHT_LOG_INVALID(name, parameter, "number of dimensions", got, "allowed: ", allowed)
#define OP_LOGE_FOR_INVALID_SHAPEDIM_WITH_REASON(name, parameter, got, reason) \
  OPWRIGHT_LOG_INVALID(name, parameter, "number of dimensions", got, "", reason)
#define OP_LOGE_FOR_INVALID_SHAPEDIMS_WITH_REASON(name, parameter, got, reason) \
  OPWRIGHT_LOG_INVALID(name, parameter, "number of dimensions", got, "", reason)
#define OP_LOGE_FOR_INVALID_SHAPESIZE(name, parameter, got, allowed) \
  OPWRIGHT_LOG_INVALID(name, parameter, "number of elements", got, "allowed: ", allowed)
#define OP_LOGE_FOR_INVALID_SHAPESIZE_WITH_REASON(name, parameter, got, reason) \
  OPWRIGHT_LOG_INVALID(name, parameter, "number of elements", got, "", reason)
#define OP_LOGE_FOR_INVALID_SHAPESIZES_WITH_REASON(name, parameter, got, reason) \
  OPWRIGHT_LOG_INVALID(name, parameter, "number of elements", got, "", reason)
#define OP_LOGE_FOR_INVALID_FORMAT(name, parameter, got, allowed) \
  OPWRIGHT_LOG_INVALID(name, parameter, "format", got, "allowed: ", allowed)
#define OP_LOGE_FOR_INVALID_FORMAT_WITH_REASON(name, parameter, got, reason) \
  OPWRIGHT_LOG_INVALID(name, parameter, "format", got, "", reason)
#define OP_LOGE_FOR_INVALID_FORMATS_WITH_REASON(name, parameter, got, reason) \
  OPWRIGHT_LOG_INVALID(name, parameter, "format", got, "", reason)
#define OP_LOGE_FOR_INVALID_DTYPE(name, parameter, got, allowed) \
  OPWRIGHT_LOG_INVALID(name, parameter, "dtype", got, "allowed: ", allowed)
#define OP_LOGE_FOR_INVALID_DTYPE_WITH_REASON(name, parameter, got, reason) \
  OPWRIGHT_LOG_INVALID(name, parameter, "dtype", got, "", reason)
#define OP_LOGE_FOR_INVALID_DTYPES_WITH_REASON(name, parameter, got, reason) \
  OPWRIGHT_LOG_INVALID(name, parameter, "dtype", got, "", reason)
#define OP_LOGE_FOR_INVALID_TENSORNUM(name, parameter, got, allowed) \
  OPWRIGHT_LOG_INVALID(name, parameter, "number of tensors", got, "allowed: ", allowed)
#define OP_LOGE_FOR_INVALID_TENSORNUM_WITH_REASON(name, parameter, got, reason) \
  OPWRIGHT_LOG_INVALID(name, parameter, "number of tensors", got, "", reason)
#define OP_LOGE_FOR_INVALID_TENSORNUMS_WITH_REASON(name, parameter, got, reason) \
  OPWRIGHT_LOG_INVALID(name, parameter, "number of tensors", got, "", reason)
#define OP_LOGE_FOR_INVALID_VALUE(name, parameter, got, allowed) \
  OPWRIGHT_LOG_INVALID(name, parameter, "value", got, "allowed: ", allowed)
#define OP_LOGE_FOR_INVALID_VALUE_WITH_REASON(name, parameter, got, reason) \
  OPWRIGHT_LOG_INVALID(name, parameter, "value", got, "", reason)
#define OP_LOGE_FOR_INVALID_VALUES_WITH_REASON(name, parameter, got, reason) \
  OPWRIGHT_LOG_INVALID(name, parameter, "value", got, "", reason)
#define OP_LOGE_FOR_INVALID_LISTSIZE(name, parameter, got, allowed) \
  OPWRIGHT_LOG_INVALID(name, parameter, "length", got, "allowed: ", allowed)
#define OP_LOGE_FOR_INVALID_LISTSIZE_WITH_REASON(name, parameter, got, reason) \
  OPWRIGHT_LOG_INVALID(name, parameter, "length", got, "", reason)
#define OP_LOGE_FOR_INVALID_LISTSIZES_WITH_REASON(name, parameter, got, reason) \
  OPWRIGHT_LOG_INVALID(name, parameter, "length", got, "", reason)
#define OP_LOGE_FOR_INVALID_STRIDE(name, parameter, got, allowed) \
  OPWRIGHT_LOG_INVALID(name, parameter, "stride", got, "allowed: ", allowed)
#define OP_LOGE_FOR_INVALID_STRIDE_WITH_REASON(name, parameter, got, reason) \
  OPWRIGHT_LOG_INVALID(name, parameter, "stride", got, "", reason)
#define OP_LOGE_FOR_INVALID_STRIDES_WITH_REASON(name, parameter, got, reason) \
  OPWRIGHT_LOG_INVALID(name, parameter, "stride", got, "", reason)
#define OP_LOGE_FOR_INVALID_ARGUMENT_WITH_REASON(name, parameter, reason) \
  OPWRIGHT_LOG_INVALID(name, parameter, "argument", "not as it should be", "", reason)
#define OP_LOGE_WITH_INVALID_INPUT(name, parameter) \
  OPWRIGHT_LOG_INVALID(name, parameter, "input", "missing", "", "give it")
#define OP_LOGE_WITH_INVALID_INPUT_SHAPE(name, parameter, got, allowed) \
  OPWRIGHT_LOG_INVALID(name, parameter, "shape", got, "allowed: ", allowed)
#define OP_LOGE_WITH_INVALID_INPUT_SHAPESIZE(name, parameter, got, allowed) \
  OPWRIGHT_LOG_INVALID(name, parameter, "number of elements", got, "allowed: ", allowed)
#define OP_LOGE_WITH_INVALID_INPUT_FORMAT(name, parameter, got, allowed) \
  OPWRIGHT_LOG_INVALID(name, parameter, "format", got, "allowed: ", allowed)
#define OP_LOGE_WITH_INVALID_INPUT_DTYPE(name, parameter, got, allowed) \
  OPWRIGHT_LOG_INVALID(name, parameter, "dtype", got, "allowed: ", allowed)
#define OP_LOGE_WITH_INVALID_ATTR(name, attribute, got, allowed) \
  OPWRIGHT_LOG_INVALID(name, attribute, "value", got, "allowed: ", allowed)
#define OP_LOGE_WITH_INVALID_ATTR_SIZE(name, attribute, got, allowed) \
  OPWRIGHT_LOG_INVALID(name, attribute, "length", got, "allowed: ", allowed)

// The names of the level below, and the function whose result a message ends.
#define D_OP_LOGE(name, ...) OP_LOGE(name, __VA_ARGS__)
#define D_OP_LOGW(name, ...) OP_LOGW(name, __VA_ARGS__)
#define D_OP_LOGI(name, ...) OP_LOGI(name, __VA_ARGS__)
#define D_OP_LOGD(name, ...) OP_LOGD(name, __VA_ARGS__)
#define OP_LOGE_LIBOPAPI_REPORT(name, ...) OP_LOGE(name, __VA_ARGS__)
#ifndef OP_LOGE_IF
#define OP_LOGE_IF(condition, result, name, ...) \
  do {                                           \
    if (condition) {                             \
      OP_LOGE(name, __VA_ARGS__);                \
      return result;                             \
    }                                            \
  } while (false)
#endif
