// operations/optional.h: attributes that may be absent, as ATen takes them.
#pragma once

#include <optional>

#include "operation.h"

namespace AscendIE {

inline std::optional<int64_t> optional_integer(const Call& c, std::string_view name) {
  return c.has(name) ? std::optional(c.integer(name)) : std::nullopt;
}

inline std::optional<double> optional_real(const Call& c, std::string_view name) {
  return c.has(name) ? std::optional(c.real(name)) : std::nullopt;
}

/// The attribute is the number of an input.
inline std::optional<at::Tensor> optional_input(const Call& c, std::string_view name) {
  return c.has(name) ? std::optional(c[static_cast<size_t>(c.integer(name))]) : std::nullopt;
}

}  // namespace AscendIE
