// util/aliases.cpp
#include "util/aliases.h"

#include <algorithm>

namespace torch_aie::core {

bool touches_written(const torch::jit::AliasDb& aliases, const torch::jit::Node* node) {
  const auto written = [&](const torch::jit::Value* value) { return aliases.hasWriters(value); };
  const auto inputs = node->inputs();
  const auto outputs = node->outputs();
  return std::any_of(inputs.begin(), inputs.end(), written) || std::any_of(outputs.begin(), outputs.end(), written);
}

}  // namespace torch_aie::core
