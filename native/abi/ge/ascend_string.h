// native/abi/ge/ascend_string.h
// A string whose layout does not depend on the C++ library's string ABI.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#pragma GCC visibility push(default)
namespace ge {

class AscendString {
 public:
  AscendString() = default;
  AscendString(const char* name);  // implicit, as in CANN
  AscendString(const char* name, size_t length);
  ~AscendString() = default;

  // Empty text, never nullptr, for a default-constructed string.
  const char* GetString() const;
  size_t GetLength() const;
  size_t Hash() const;

  bool operator<(const AscendString& other) const;
  bool operator>(const AscendString& other) const;
  bool operator<=(const AscendString& other) const;
  bool operator>=(const AscendString& other) const;
  bool operator==(const AscendString& other) const;
  bool operator!=(const AscendString& other) const;

 private:
  std::shared_ptr<std::string> name_;
};

static_assert(sizeof(AscendString) == 16);

}  // namespace ge
#pragma GCC visibility pop
