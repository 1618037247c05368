// native/runtime/settings.cpp
// Reads and checks the environment.
#include "runtime/settings.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "runtime/memory/machine_memory.h"
#include "runtime/soc.h"

namespace opwright {
namespace {

constexpr int kDefaultDevices = 2;
constexpr int kMostDevices = 16;  // one node of the largest Ascend server

std::string variable(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : fallback;
}

[[noreturn]] void reject(const char* name, const std::string& value, const std::string& allowed,
                         int code = ACL_ERROR_INVALID_PARAM) {
  fail(code, "environment variable ", name, "='", value, "' cannot be used; allowed: ", allowed);
}

int integer(const char* name, const std::string& value, int least, int most, int code = ACL_ERROR_INVALID_PARAM) {
  char* end = nullptr;
  const long number = std::strtol(value.c_str(), &end, 10);
  if (end == value.c_str() || *end != '\0' || number < least || number > most) {
    reject(name, value, text("a whole number from ", least, " to ", most), code);
  }
  return static_cast<int>(number);
}

// A device offers what the SoC has, unless this machine has less: then three quarters of its memory. What the devices
// may have together is decided at each allocation (backing.h).
uint64_t default_memory(const Soc& soc) { return std::min(soc.memory, machine_memory() / 4 * 3); }

std::vector<int> visible_devices(int count) {
  const std::string listed = variable("ASCEND_RT_VISIBLE_DEVICES", "");
  std::vector<int> devices;
  if (listed.empty()) {
    for (int id = 0; id < count; ++id) devices.push_back(id);
    return devices;
  }
  std::istringstream items(listed);
  for (std::string item; std::getline(items, item, ',');) {
    devices.push_back(integer("ASCEND_RT_VISIBLE_DEVICES", item, 0, count - 1));
  }
  return devices;
}

Settings read() {
  Settings result;
  result.soc = variable("OPWRIGHT_SOC", "Ascend910B4");
  const Soc* soc = find_soc(result.soc);
  if (soc == nullptr) reject("OPWRIGHT_SOC", result.soc, known_soc_names());
  result.devices = integer("OPWRIGHT_DEVICES", variable("OPWRIGHT_DEVICES", std::to_string(kDefaultDevices).c_str()), 1,
                           kMostDevices);
  result.visible_devices = visible_devices(result.devices);
  const std::string memory = variable("OPWRIGHT_MEMORY", "");
  result.device_memory = memory.empty() ? default_memory(*soc) : parse_size(memory);
  result.sync = integer("OPWRIGHT_SYNC", variable("OPWRIGHT_SYNC", "0"), 0, 1) == 1;
  result.trace_file = variable("OPWRIGHT_TRACE", "");
  result.graph_dump_folder = variable("OPWRIGHT_GRAPH_DUMP", "");
  const std::string log_level = variable("ASCEND_GLOBAL_LOG_LEVEL", "");
  result.log_level =
      log_level.empty() ? ACL_ERROR : integer("ASCEND_GLOBAL_LOG_LEVEL", log_level, 0, Settings::kLogNothing);
  const std::string to_stdout = variable("ASCEND_SLOG_PRINT_TO_STDOUT", "0");
  result.log_to_stdout = integer("ASCEND_SLOG_PRINT_TO_STDOUT", to_stdout, 0, 1) == 1;
  result.log_folder = variable("ASCEND_PROCESS_LOG_PATH", "");
  const bool asked_for = !log_level.empty() || result.log_to_stdout || !result.log_folder.empty();
  result.own_log_level = asked_for ? result.log_level : Settings::kLogNothing;
  return result;
}

}  // namespace

int guard_setting() {
  static const int value = integer("OPWRIGHT_GUARD", variable("OPWRIGHT_GUARD", "0"), 0, 2);
  return value;
}

std::optional<uint64_t> explore_setting() {
  const std::string value = variable("OPWRIGHT_EXPLORE", "");
  if (value.empty()) return std::nullopt;
  return static_cast<uint64_t>(integer("OPWRIGHT_EXPLORE", value, 0, INT32_MAX));
}

std::optional<std::string> explore_holds_setting() {
  const std::string name = variable("OPWRIGHT_EXPLORE_HOLDS", "");
  if (name.empty()) return std::nullopt;
  std::ifstream file(name);
  if (!file) reject("OPWRIGHT_EXPLORE_HOLDS", name, "a file that can be read");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string explore_log_setting() {
  const std::string name = variable("OPWRIGHT_EXPLORE_LOG", "");
  return name.empty() ? name : text(name, ".", variable("RANK", "0"), ".", getpid());
}

int integer_setting(const char* name, int fallback, int least, int most, int code) {
  return integer(name, variable(name, std::to_string(fallback).c_str()), least, most, code);
}

uint64_t parse_size(const std::string& value) {
  static const char kAllowed[] = "a number of bytes of at least 2M with an optional suffix K, M, G or T";
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  std::string suffix(end);
  for (const char* unit : {"iB", "B"}) {
    const std::string tail(unit);
    if (suffix.size() > tail.size() && suffix.compare(suffix.size() - tail.size(), tail.size(), tail) == 0) {
      suffix.resize(suffix.size() - tail.size());
      break;
    }
  }
  static const std::string kSuffixes = "KMGT";
  int power = 0;
  if (suffix.size() == 1 && kSuffixes.find(static_cast<char>(std::toupper(suffix[0]))) != std::string::npos) {
    power = static_cast<int>(kSuffixes.find(static_cast<char>(std::toupper(suffix[0])))) + 1;
  } else if (!suffix.empty()) {
    reject("OPWRIGHT_MEMORY", value, kAllowed);
  }
  const double bytes = number * static_cast<double>(uint64_t{1} << (10 * power));
  constexpr double kLeast = 2 << 20;
  constexpr double kMost = static_cast<double>(uint64_t{1} << 40);
  if (!(bytes >= kLeast && bytes <= kMost)) reject("OPWRIGHT_MEMORY", value, kAllowed);
  return static_cast<uint64_t>(bytes);
}

const Settings& settings() {
  static const Settings instance = read();
  return instance;
}

}  // namespace opwright
