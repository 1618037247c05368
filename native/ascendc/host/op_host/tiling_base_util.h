// op_host/tiling_base_util.h
// Chips with vector registers in programs, and scalars as shapes.
#pragma once

#include "exe_graph/runtime/tiling_context.h"
#include "exe_graph/runtime/tiling_parse_context.h"
#include "platform/soc_spec.h"
#include "register/op_impl_registry.h"

namespace Ops::Base {

// Chips of the architecture of Ascend950. The twin is none of them.
inline bool IsRegbaseSocVersion(const gert::TilingParseContext*) { return false; }
inline bool IsRegbaseSocVersion(const gert::TilingContext*) { return false; }

// [1] in place of a scalar's shape.
inline const gert::Shape& EnsureNotScalar(const gert::Shape& inShape) {
  static const gert::Shape one{1};
  return inShape.GetDimNum() == 0 ? one : inShape;
}

}  // namespace Ops::Base
