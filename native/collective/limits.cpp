// native/collective/limits.cpp
#include "collective/limits.h"

#include <algorithm>
#include <cstdlib>

#include "hccl/hccl_types.h"
#include "runtime/error.h"

namespace opwright::collective {
namespace {

constexpr std::chrono::seconds kConnect(120);
constexpr std::chrono::seconds kExecute(1836);
constexpr long kMost = 17340;  // CANN's

Limit read(const char* name, std::chrono::seconds fallback, long least) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return fallback;
  char* end = nullptr;
  const long number = std::strtol(value, &end, 10);
  require(*end == '\0' && number >= least && number <= kMost, HCCL_E_PARA, "environment variable ", name, "='", value,
          "' cannot be used; allowed: a number of seconds from ", least, " to ", kMost);
  return number == 0 ? Limit() : Limit(std::chrono::seconds(number));
}

}  // namespace

Limit connect_limit() {
  static const Limit limit = read("HCCL_CONNECT_TIMEOUT", kConnect, 1);
  return limit;
}

Limit execute_limit() {
  static const Limit limit = read("HCCL_EXEC_TIMEOUT", kExecute, 0);
  return limit;
}

int Deadline::left(int most) const {
  if (!end_) return most;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*end_ - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left.count() + 1, 0, most));
}

}  // namespace opwright::collective
