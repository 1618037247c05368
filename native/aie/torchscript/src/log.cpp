// log.cpp
#include "log.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <iostream>

namespace torch_aie {

namespace {

constexpr std::array<const char*, 4> kNames{"debug", "info", "warn", "error"};

Level chosen_level() {
  const char* const variable = std::getenv("TORCH_AIE_LOG_LEVEL");
  std::string text = variable ? variable : "error";
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (text == kNames[i] || text == std::to_string(i)) return static_cast<Level>(i);
  }
  return Level::kError;
}

}  // namespace

bool enabled(Level level) {
  static const Level chosen = chosen_level();
  return level >= chosen;
}

void write_log(Level level, const std::string& text) {
  std::cerr << "[torch_aie] " + std::string(kNames[static_cast<size_t>(level)]) + ": " + text + "\n";
}

}  // namespace torch_aie
