// native/collective/limits.cpp
#include "collective/limits.h"

#include <algorithm>

#include "hccl/hccl_types.h"
#include "runtime/settings.h"

namespace opwright::collective {
namespace {

// CANN's, in seconds.
constexpr int kConnect = 120;
constexpr int kExecute = 1836;
constexpr int kMost = 17340;

Limit read(const char* name, int fallback, int least) {
  const int seconds = integer_setting(name, fallback, least, kMost, HCCL_E_PARA);
  return seconds == 0 ? Limit() : Limit(std::chrono::seconds(seconds));
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
