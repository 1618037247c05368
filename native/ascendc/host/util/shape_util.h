// util/shape_util.h
// Shapes of which not all is known: rank -2, a dimension -1.
#pragma once

#include <cstdint>

#include "exe_graph/runtime/shape.h"

namespace Ops::Base {

inline constexpr int64_t kUnknownRank = -2;
inline constexpr int64_t kUnknownDimension = -1;

template <class Rank, class Axis>
bool CheckAxisBounds(Rank dimNum, Axis axis) {
  const auto rank = static_cast<int64_t>(dimNum);
  const auto place = static_cast<int64_t>(axis);
  return rank == 0 ? place == 0 : place >= -rank && place < rank;
}
inline void SetUnknownRank(gert::Shape& shape) {
  shape.SetDimNum(0);
  shape.AppendDim(kUnknownRank);
}
inline bool IsUnknownRank(const gert::Shape& shape) {
  return shape.GetDimNum() == 1 && shape.GetDim(0) == kUnknownRank;
}
inline void SetUnknownShape(int64_t rank, gert::Shape& shape) {
  shape.SetDimNum(0);
  for (int64_t i = 0; i < rank; ++i) shape.AppendDim(kUnknownDimension);
}
inline bool IsUnknownShape(const gert::Shape& shape) {
  for (size_t i = 0; i < shape.GetDimNum(); ++i) {
    if (shape.GetDim(i) == kUnknownDimension) return true;
  }
  return false;
}

}  // namespace Ops::Base
