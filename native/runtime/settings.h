// native/runtime/settings.h
// The twin's configuration, read from the environment once per process. No other file reads the environment, but for
// sparse_attention/cpu.cpp (OPWRIGHT_CPU_ISA, a word).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error.h"

namespace opwright {

struct Settings {
  static constexpr int kLogNothing = 4;

  std::string soc;                   // OPWRIGHT_SOC: a name of the table in soc.cpp
  int devices;                       // OPWRIGHT_DEVICES: of the machine
  std::vector<int> visible_devices;  // physical ids: all of them, or what ASCEND_RT_VISIBLE_DEVICES leaves
  uint64_t device_memory;            // OPWRIGHT_MEMORY: bytes per device
  bool sync;                         // OPWRIGHT_SYNC: run each task at its call
  std::string trace_file;            // OPWRIGHT_TRACE: Chrome trace, empty for none
  std::string graph_dump_folder;     // OPWRIGHT_GRAPH_DUMP: for the JSON of each capture, empty for none
  int log_level;                     // ASCEND_GLOBAL_LOG_LEVEL: 0 debug … 3 error, 4 none
  int own_log_level;                 // the same for lines of the program itself, which nobody gets without asking
  bool log_to_stdout;                // ASCEND_SLOG_PRINT_TO_STDOUT
  std::string log_folder;            // ASCEND_PROCESS_LOG_PATH: for files of the log, empty for none
};

// Throws Error(100000) for a value that cannot be read, naming the variable, the value and what is allowed.
OPWRIGHT_API const Settings& settings();

// OPWRIGHT_GUARD: 0, or how memory is guarded (guard/guard.h). Read when it is first asked for, with the first memory
// or kernel: a process that is forked before that can choose for itself.
OPWRIGHT_API int guard_setting();

// OPWRIGHT_EXPLORE: the seed of the order in which tasks run; nothing if that is left to the machine.
std::optional<uint64_t> explore_setting();
// The text of the file that OPWRIGHT_EXPLORE_HOLDS names: tasks that are held back. Goes before the seed.
std::optional<std::string> explore_holds_setting();
// OPWRIGHT_EXPLORE_LOG: where this process writes what happens, empty for nowhere. Ranks and children of a program have
// names of their own.
std::string explore_log_setting();

// A variable that belongs to one library: a whole number. Read at each call. Throws Error(code).
OPWRIGHT_API int integer_setting(const char* name, int fallback, int least, int most, int code);

// "2G" -> 2147483648. Suffixes K, M, G, T (powers of 1024, optional "iB" or "B"). Throws Error(100000).
OPWRIGHT_API uint64_t parse_size(const std::string& value);

}  // namespace opwright
