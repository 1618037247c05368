// log.h: TORCH_AIE_LOG_LEVEL: 0 to 3 or debug, info, warn, error (the default). Lines go to stderr.
#pragma once

#include <sstream>
#include <string>

namespace torch_aie {

enum class Level { kDebug, kInfo, kWarning, kError };

bool enabled(Level level);
void write_log(Level level, const std::string& text);

template <class... T>
void log(Level level, const T&... parts) {
  if (!enabled(level)) return;
  std::ostringstream text;
  (text << ... << parts);
  write_log(level, text.str());
}

}  // namespace torch_aie
