// log/log_settings.cpp
#include "log/log_settings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <initializer_list>
#include <iostream>

namespace torch_aie {

namespace {

constexpr std::array<const char*, 4> kLevels{"debug", "info", "warn", "error"};

struct Variable {
  std::string name;
  std::string value;  // in small letters; empty if none is set
};

/// The first of the variables that is set.
Variable first_set(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string text = value;
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return {name, text};
  }
  return {};
}

void refuse(const Variable& variable, const char* allowed) {
  std::cerr << "[torch_aie] " << variable.name << ": got '" << variable.value << "', allowed are " << allowed
            << ": it has no effect\n";
}

Level level_of(const Variable& variable) {
  for (size_t i = 0; i < kLevels.size(); ++i) {
    if (variable.value == kLevels[i] || variable.value == std::to_string(i)) return static_cast<Level>(i);
  }
  if (!variable.value.empty()) refuse(variable, "0 to 3, debug, info, warn, error");
  return Level::kError;
}

std::optional<bool> switch_of(const Variable& variable) {
  if (variable.value == "1" || variable.value == "true") return true;
  if (variable.value == "0" || variable.value == "false") return false;
  if (!variable.value.empty()) refuse(variable, "0, 1, false, true");
  return std::nullopt;
}

std::string folder() {
  if (!switch_of(first_set({"MINDIE_LOG_TO_FILE"})).value_or(true)) return "";
  const char* const chosen = std::getenv("MINDIE_LOG_PATH");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/ascend/log/torch_aie_log" : "";
}

}  // namespace

const char* name_of(Level level) { return kLevels[static_cast<size_t>(level)]; }

LogSettings log_settings() {
  return {level_of(first_set({"MINDIE_LOG_LEVEL", "TORCH_AIE_LOG_LEVEL"})),
          switch_of(first_set({"MINDIE_LOG_TO_STDOUT", "TORCH_AIE_LOG_PRINT_TO_STDOUT", "TORCH_AIE_PRINT_TO_STDOUT"})),
          folder()};
}

}  // namespace torch_aie
