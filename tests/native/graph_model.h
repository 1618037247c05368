// tests/native/graph_model.h
// A serialized graph for scenarios of the graph interface.
#pragma once

#include <string>

#include "ge/types.h"

namespace opwright::test {

constexpr int kFailed = static_cast<int>(ge::FAILED);

// A length-delimited field of a protobuf message.
inline std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

inline std::string model() {
  const std::string data = field(1, "x") + field(2, "Data");
  const std::string print = field(1, "log") + field(2, "PrintV2");
  return field(1, "model") + field(7, field(1, "graph") + field(6, data) + field(6, print));
}

}  // namespace opwright::test
