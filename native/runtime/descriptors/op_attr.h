// native/runtime/descriptors/op_attr.h
// Attributes of an operator of the legacy path: name -> value.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "acl/acl_base.h"

namespace opwright {

using AttrValue = std::variant<bool, int64_t, float, std::string, aclDataType, std::vector<bool>, std::vector<int64_t>,
                               std::vector<float>, std::vector<std::string>, std::vector<aclDataType>,
                               std::vector<std::vector<int64_t>>>;

}  // namespace opwright

struct aclopAttr {
  std::map<std::string, opwright::AttrValue> values;
};
