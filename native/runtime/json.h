// native/runtime/json.h
// Reads JSON: the configuration files of ACL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/error.h"

namespace opwright::json {

struct Value;
using List = std::vector<Value>;
using Object = std::vector<std::pair<std::string, Value>>;  // in the order of the text

struct Value {
  std::variant<std::nullptr_t, bool, double, std::string, List, Object> data;

  const std::string* text() const noexcept { return std::get_if<std::string>(&data); }
  const List* list() const noexcept { return std::get_if<List>(&data); }
  const Object* object() const noexcept { return std::get_if<Object>(&data); }
  // The entry of an object; nullptr if there is none, or if this is no object.
  const Value* find(std::string_view key) const noexcept;
};

// Throws Error(code) with the line where the text is not JSON.
OPWRIGHT_API Value parse(std::string_view text, int code);
// Reads a file. Throws 100003 if that cannot be done, 100006 if it is not JSON. An empty file is an empty object.
Value read(const char* path);

}  // namespace opwright::json
