// log/log_settings.h: what the environment says about logging.
#pragma once

#include <optional>
#include <string>

#include "log/log.h"

namespace torch_aie {

struct LogSettings {
  Level level = Level::kError;
  std::optional<bool> to_stdout;  // nothing: to stderr
  std::string folder;             // of files; empty: no file
};

/// "debug", "info", "warn", "error".
const char* name_of(Level level);
/// Values that are not allowed are reported on stderr, and have no effect.
LogSettings log_settings();

}  // namespace torch_aie
