// log/text.h
// Ops::Base::ToString: shapes, dtypes and formats for messages.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "exe_graph/runtime/shape.h"
#include "exe_graph/runtime/tensor.h"
#include "graph/types.h"
#include "graph/utils/type_utils.h"

namespace Ops::Base {

inline std::string ToString(ge::DataType type) { return ge::TypeUtils::DataTypeToSerialString(type); }
inline std::string ToString(ge::Format format) { return ge::TypeUtils::FormatToSerialString(format); }
inline std::string ToString(const gert::Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.GetDimNum(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape.GetDim(i));
  return text + "]";
}
inline std::string ToString(const gert::Shape* shape) { return shape == nullptr ? "null" : ToString(*shape); }
template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
std::string ToString(T value) {
  return std::to_string(value);
}
template <class T>
std::string ToString(const std::vector<T>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : ", ") + ToString(values[i]);
  return text + "]";
}

}  // namespace Ops::Base
