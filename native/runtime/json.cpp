// native/runtime/json.cpp
// A recursive-descent reader. Texts are UTF-8, also where the document writes characters as escapes.
#include "runtime/json.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <sstream>

#include "acl/acl_base.h"

namespace opwright::json {
namespace {

constexpr int kDeepest = 64;  // levels of lists and objects

void append_utf8(std::string& text, uint32_t character) {
  const auto continuation = [&](int shift) { return static_cast<char>(0x80 | (character >> shift & 0x3F)); };
  if (character < 0x80) {
    text += static_cast<char>(character);
  } else if (character < 0x800) {
    text += static_cast<char>(0xC0 | character >> 6);
    text += continuation(0);
  } else if (character < 0x10000) {
    text += static_cast<char>(0xE0 | character >> 12);
    text += {continuation(6), continuation(0)};
  } else {
    text += static_cast<char>(0xF0 | character >> 18);
    text += {continuation(12), continuation(6), continuation(0)};
  }
}

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
      if (found != '\\') {
        result += found;
      } else if (peek() == 'u') {
        append_utf8(result, unicode());
      } else {
        result += escaped();
      }
    }
    ++at_;
    return result;
  }

  char escaped() {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char name = peek();
    const size_t found = kNames.find(name);
    if (found == std::string_view::npos) reject("an escape");
    ++at_;
    return kMeanings[found];
  }

  // Characters beyond 16 bits are two escapes, a high surrogate and a low one.
  uint32_t unicode() {
    constexpr uint32_t kHigh = 0xD800;
    constexpr uint32_t kLow = 0xDC00;
    constexpr uint32_t kSurrogates = 0x400;  // of each kind
    const uint32_t first = code_unit();
    if (first < kHigh || first >= kLow + kSurrogates) return first;
    if (first >= kLow || text_.substr(at_, 2) != "\\u") reject("the escapes of a whole surrogate pair");
    ++at_;
    const uint32_t second = code_unit();
    if (second < kLow || second >= kLow + kSurrogates) reject("the escapes of a whole surrogate pair");
    return 0x10000 + (first - kHigh) * kSurrogates + (second - kLow);
  }

  // "u" and four digits.
  uint32_t code_unit() {
    constexpr size_t kDigits = 4;
    ++at_;
    uint32_t value = 0;
    const std::string_view digits = text_.substr(at_, kDigits);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    const bool is_whole = error == std::errc() && end == digits.data() + kDigits;
    if (!is_whole) reject("four hexadecimal digits behind \\u");
    at_ += kDigits;
    return value;
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
