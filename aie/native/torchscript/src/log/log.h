// log/log.h: log lines. The environment says which and where to (read once, by the first line):
//   TORCH_AIE_LOG_LEVEL            0 to 3 or debug, info, warn, error (the default)
//   TORCH_AIE_LOG_PRINT_TO_STDOUT  1 or true: also to stdout; 0 or false: only to the file; unset: also to stderr.
//                                  TORCH_AIE_PRINT_TO_STDOUT is the same
//   MINDIE_LOG_LEVEL, MINDIE_LOG_TO_STDOUT, MINDIE_LOG_TO_FILE, MINDIE_LOG_PATH   have precedence
// The file, with the first line: ~/ascend/log/torch_aie_log/plog_PID_DATETIME.log, readable by its owner only.
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
