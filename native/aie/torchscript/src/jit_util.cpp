// jit_util.cpp: texts of nodes; types of ATen and of the engine.
#include "core/util/jit_util.h"

#include <c10/util/Exception.h>

#include <array>
#include <utility>

#include "core/util/prelude.h"

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

std::string names(c10::ArrayRef<const torch::jit::Value*> values) {
  std::string text;
  for (const torch::jit::Value* value : values) text += (text.empty() ? "%" : ", %") + value->debugName();
  return text;
}

}  // namespace

std::string nodeInfo(const torch::jit::Node* node) {
  std::string text = names(node->outputs());
  if (!text.empty()) text += " = ";
  text += std::string(node->kind().toQualString()) + "(" + names(node->inputs()) + ")";
  if (const auto place = node->sourceRange().file_line_col()) {
    text += " at " + std::get<0>(*place) + ":" + std::to_string(std::get<1>(*place));
  }
  return text;
}

AscendIE::Dims unsqueezeDims(const AscendIE::Dims& dims, int64_t pos, int64_t val) {
  TORCH_CHECK_INDEX(pos >= 0 && pos <= dims.Size() && dims.Size() < AscendIE::Dims::MAX_DIMS, "unsqueezeDims: got ",
                    "position ", pos, " in rank ", dims.Size(), ", allowed are 0 to the rank, which is at most ",
                    AscendIE::Dims::MAX_DIMS - 1);
  std::vector<int64_t> sizes = toVec(dims);
  sizes.insert(sizes.begin() + pos, val);
  return AscendIE::Dims(sizes);
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
