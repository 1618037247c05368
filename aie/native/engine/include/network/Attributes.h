// network/Attributes.h: a layer's arguments besides its inputs.
#ifndef ASCENDIE_NETWORK_ATTRIBUTES_H
#define ASCENDIE_NETWORK_ATTRIBUTES_H

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace AscendIE {

using Attribute = std::variant<int64_t, double, std::vector<int64_t>, std::string>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

/// An integer, alone or in a list, that is known only when the model runs: the value of the layer's input `index`.
/// Integers this far below zero mean nothing else.
constexpr int64_t ValueOfInput(uint32_t index) { return std::numeric_limits<int64_t>::min() + index; }
constexpr bool IsValueOfInput(int64_t value) { return value < ValueOfInput(1024); }

}  // namespace AscendIE
#endif
