// native/runtime/json.cpp
// A recursive-descent reader. Escapes of characters outside of ASCII stay as they are written.
#include "runtime/json.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <sstream>

#include "acl/acl_dump.h"

namespace opwright::json {
namespace {

constexpr int kDeepest = 64;  // levels of lists and objects

class Reader {
 public:
  Reader(std::string_view text, int code) : text_(text), code_(code) {}

  Value document() {
    Value value = next(0);
    skip_space();
    if (at_ != text_.size()) reject("the end");
    return value;
  }

 private:
  Value next(int depth) {
    if (depth > kDeepest) reject("fewer levels of lists and objects");
    skip_space();
    switch (peek()) {
      case '{':
        return Value{object(depth)};
      case '[':
        return Value{list(depth)};
      case '"':
        return Value{string()};
      case 't':
        return word("true", true);
      case 'f':
        return word("false", false);
      case 'n':
        return word("null", nullptr);
      default:
        return Value{number()};
    }
  }

  Object object(int depth) {
    Object result;
    if (begins_empty('}')) return result;
    do {
      skip_space();
      if (peek() != '"') reject("a key");
      std::string key = string();
      skip_space();
      take(':');
      result.emplace_back(std::move(key), next(depth + 1));
    } while (goes_on('}'));
    return result;
  }

  List list(int depth) {
    List result;
    if (begins_empty(']')) return result;
    do result.push_back(next(depth + 1));
    while (goes_on(']'));
    return result;
  }

  std::string string() {
    take('"');
    std::string result;
    while (peek() != '"') {
      const char found = text_[at_++];
      if (found == '\n') reject("a closing quotation mark");
      result += found == '\\' ? escaped() : found;
    }
    ++at_;
    return result;
  }

  char escaped() {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char name = peek();
    if (name == 'u') {  // the digits follow as text
      return '\\';
    }
    const size_t found = kNames.find(name);
    if (found == std::string_view::npos) reject("an escape");
    ++at_;
    return kMeanings[found];
  }

  double number() {
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) reject("a value");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  template <class T>
  Value word(std::string_view expected, T value) {
    if (text_.substr(at_, expected.size()) != expected) reject("a value");
    at_ += expected.size();
    return Value{value};
  }

  bool begins_empty(char end) {
    ++at_;
    skip_space();
    if (peek() != end) return false;
    ++at_;
    return true;
  }

  bool goes_on(char end) {
    skip_space();
    if (peek() == ',') {
      ++at_;
      return true;
    }
    take(end);
    return false;
  }

  char peek() const {
    if (at_ >= text_.size()) reject("more");
    return text_[at_];
  }

  void take(char expected) {
    if (peek() != expected) reject(std::string(1, expected));
    ++at_;
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  [[noreturn]] void reject(const std::string& expected) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(at_), '\n');
    fail(code_, "not JSON: line ", line, " should have ", expected);
  }

  const std::string_view text_;
  const int code_;
  size_t at_ = 0;
};

}  // namespace

const Value* Value::find(std::string_view key) const noexcept {
  const Object* const entries = object();
  if (entries == nullptr) return nullptr;
  const auto it = std::find_if(entries->begin(), entries->end(), [&](const auto& entry) { return entry.first == key; });
  return it == entries->end() ? nullptr : &it->second;
}

Value parse(std::string_view text, int code) { return Reader(text, code).document(); }

Value read(const char* path) {
  require(access(path, R_OK) == 0, ACL_ERROR_INVALID_FILE, "configuration file '", path, "' cannot be read");
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  const std::string text = content.str();
  const bool is_empty = text.find_first_not_of(" \t\r\n") == std::string::npos;
  if (is_empty) return Value{Object()};
  try {
    return parse(text, ACL_ERROR_PARSE_FILE);
  } catch (const Error& error) {
    fail(error.code(), "configuration file '", path, "' is ", error.text());
  }
}

}  // namespace opwright::json
