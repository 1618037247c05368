// native/graph_engine/ascend_string.cpp
// ge::AscendString.
#include "ge/ascend_string.h"

#include <functional>
#include <string_view>

namespace ge {
namespace {

std::string_view view(const AscendString& string) { return {string.GetString(), string.GetLength()}; }

}  // namespace

AscendString::AscendString(const char* name) {
  if (name != nullptr) name_ = std::make_shared<std::string>(name);
}

AscendString::AscendString(const char* name, size_t length) {
  if (name != nullptr) name_ = std::make_shared<std::string>(name, length);
}

const char* AscendString::GetString() const { return name_ == nullptr ? "" : name_->c_str(); }

size_t AscendString::GetLength() const { return name_ == nullptr ? 0 : name_->size(); }

size_t AscendString::Hash() const { return std::hash<std::string_view>()(view(*this)); }

bool AscendString::operator<(const AscendString& other) const { return view(*this) < view(other); }
bool AscendString::operator>(const AscendString& other) const { return view(*this) > view(other); }
bool AscendString::operator<=(const AscendString& other) const { return view(*this) <= view(other); }
bool AscendString::operator>=(const AscendString& other) const { return view(*this) >= view(other); }
bool AscendString::operator==(const AscendString& other) const { return view(*this) == view(other); }
bool AscendString::operator!=(const AscendString& other) const { return view(*this) != view(other); }

}  // namespace ge
