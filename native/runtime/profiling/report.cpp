// native/runtime/profiling/report.cpp
// Msprof*: registration, clock and hash are real. Reports are dropped: a module may report only after its callback was
// notified that profiling has started, which never happens here; CANN too drops what arrives while profiling is off and
// returns 0.
#include "runtime/profiling/report.h"

#include <chrono>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "runtime/call.h"

using namespace opwright;

namespace {

constexpr int32_t kSuccess = 0;
constexpr int32_t kFailure = -1;

struct Callbacks {
  std::mutex mutex;
  std::unordered_map<uint32_t, ProfCommandHandle> by_module;
};

Callbacks& callbacks() {
  static Callbacks* const instance = new Callbacks();  // modules may register from static constructors and destructors
  return *instance;
}

}  // namespace

ProfCommandHandle profiling::callback_of(uint32_t module) {
  const std::lock_guard<std::mutex> lock(callbacks().mutex);
  const auto found = callbacks().by_module.find(module);
  return found == callbacks().by_module.end() ? nullptr : found->second;
}

int32_t MsprofRegisterCallback(uint32_t moduleId, ProfCommandHandle handle) {
  const int code = call(
      "MsprofRegisterCallback",
      [&] {
        require(handle != nullptr, ACL_ERROR_INVALID_PARAM, "parameter 'handle' is null");
        const std::lock_guard<std::mutex> lock(callbacks().mutex);
        callbacks().by_module[moduleId] = handle;
      },
      arg("moduleId", moduleId));
  return code == ACL_SUCCESS ? kSuccess : kFailure;
}

int32_t MsprofReportApi(uint32_t, const MsprofApi*) { return kSuccess; }

int32_t MsprofReportCompactInfo(uint32_t, const VOID_PTR, uint32_t) { return kSuccess; }

int32_t MsprofReportAdditionalInfo(uint32_t, const VOID_PTR, uint32_t) { return kSuccess; }

// FNV-1a, 64 bits: the same text has the same id in every process.
uint64_t MsprofGetHashId(const char* hashInfo, size_t length) {
  constexpr uint64_t kOffsetBasis = 0xCBF29CE484222325;
  constexpr uint64_t kPrime = 0x100000001B3;
  uint64_t hash = kOffsetBasis;
  if (hashInfo == nullptr) return hash;
  for (const char byte : std::string_view(hashInfo, length)) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * kPrime;
  }
  return hash;
}

// Counts nanoseconds, so its frequency is 1 GHz; halGetDeviceInfo reports the same.
uint64_t MsprofSysCycleTime(void) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}
