// util/jit_util.cpp
#include "core/util/jit_util.h"

namespace torch_aie::core::util {

namespace {

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

}  // namespace torch_aie::core::util
