// util/prelude.cpp: shapes and types of ATen and of the engine.
#include "core/util/prelude.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <utility>

namespace torch_aie::core::util {

namespace {

using AscendIE::DataType;

constexpr std::array<std::pair<DataType, c10::ScalarType>, 9> kTypes{{
    {DataType::FLOAT, c10::kFloat},
    {DataType::FLOAT16, c10::kHalf},
    {DataType::DOUBLE, c10::kDouble},
    {DataType::INT8, c10::kChar},
    {DataType::UINT8, c10::kByte},
    {DataType::INT16, c10::kShort},
    {DataType::INT32, c10::kInt},
    {DataType::INT64, c10::kLong},
    {DataType::BOOL, c10::kBool},
}};

}  // namespace

AscendIE::Dims unsqueezeDims(const AscendIE::Dims& dims, int64_t pos, int64_t val) {
  TORCH_CHECK_INDEX(pos >= 0 && pos <= dims.Size() && dims.Size() < AscendIE::Dims::MAX_DIMS, "unsqueezeDims: got ",
                    "position ", pos, " in rank ", dims.Size(), ", allowed are 0 to the rank, which is at most ",
                    AscendIE::Dims::MAX_DIMS - 1);
  std::vector<int64_t> sizes = toVec(dims);
  sizes.insert(sizes.begin() + pos, val);
  return AscendIE::Dims(sizes);
}

bool hasDataType(c10::ScalarType type) {
  return std::any_of(kTypes.begin(), kTypes.end(), [&](const auto& row) { return row.second == type; });
}

AscendIE::DataType toDataType(c10::ScalarType type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs == type) return ours;
  }
  TORCH_CHECK_TYPE(false, "the engine has no dtype ", type);
}

c10::ScalarType toScalarType(AscendIE::DataType type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == type) return theirs;
  }
  TORCH_CHECK_TYPE(false, "data type ", static_cast<int>(type), " is none that a tensor can have");
}

}  // namespace torch_aie::core::util
