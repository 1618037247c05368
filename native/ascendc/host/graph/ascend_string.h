// graph/ascend_string.h
// A string as host code of operators gets it.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace ge {
inline namespace ascendc_host {

class AscendString {
 public:
  AscendString() = default;
  AscendString(const char* text) : text_(text == nullptr ? "" : text) {}  // implicit, as documented
  AscendString(const char* text, size_t length) : text_(text, length) {}

  // Never null.
  const char* GetString() const { return text_.c_str(); }
  size_t GetLength() const { return text_.size(); }
  size_t Find(const AscendString& other) const { return text_.find(other.text_); }
  size_t Hash() const { return std::hash<std::string>()(text_); }

  bool operator<(const AscendString& other) const { return text_ < other.text_; }
  bool operator>(const AscendString& other) const { return text_ > other.text_; }
  bool operator<=(const AscendString& other) const { return text_ <= other.text_; }
  bool operator>=(const AscendString& other) const { return text_ >= other.text_; }
  bool operator==(const AscendString& other) const { return text_ == other.text_; }
  bool operator!=(const AscendString& other) const { return text_ != other.text_; }

 private:
  std::string text_;
};

}  // namespace ascendc_host
}  // namespace ge
