// native/ascendc/kernel/advanced/matmul/register.h
// REGIST_MATMUL_OBJ: Matmul objects and their tilings, and where the cube core of a mixed kernel ends.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "advanced/matmul/matmul.h"

namespace AscendC {
namespace machine {

inline void register_matmuls() {}
template <class Object, class... Rest>
void register_matmuls(Object& object, Rest&&... rest);
template <class Object, class... Rest>
void register_with_tiling(Object& object, const TCubeTiling* tiling, Rest&&... rest) {
  object.Init(tiling);
  register_matmuls(rest...);
}
// Objects, each with or without its tiling behind it.
template <class Object, class... Rest>
void register_matmuls(Object& object, Rest&&... rest) {
  if constexpr (sizeof...(Rest) == 0) {
    static_cast<void>(object);
  } else {
    using Next = std::decay_t<decltype(std::get<0>(std::forward_as_tuple(rest...)))>;
    if constexpr (std::is_convertible_v<Next, const TCubeTiling*>) {
      register_with_tiling(object, rest...);
    } else if constexpr (std::is_same_v<Next, TCubeTiling>) {
      [&object](TCubeTiling& tiling, auto&... others) { register_with_tiling(object, &tiling, others...); }(rest...);
    } else {
      register_matmuls(rest...);
    }
  }
}

// Whether the cube core has no more to do: it serves the vector cores of its AI core from here on.
template <bool Mixed>
OPWRIGHT_INLINE bool serves_only() {
  uses_cube<Mixed>();
  return Mixed && core().mixed && core().kind == CoreKind::kCube;
}

}  // namespace machine
}  // namespace AscendC

#define REGIST_MATMUL_OBJ(tpipe, workspace, ...)                  \
  if (::AscendC::machine::serves_only<OPWRIGHT_MATMUL_MIXED>()) { \
    return;                                                       \
  }                                                               \
  static_cast<void>(tpipe);                                       \
  static_cast<void>(workspace);                                   \
  ::AscendC::machine::register_matmuls(__VA_ARGS__)
