// native/runtime/api/system.cpp
// Start and end of the process's use of ACL, versions, error channel, log, SoC facts.
#include <sys/prctl.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "acl/acl_rt.h"
#include "runtime/call.h"
#include "runtime/data_dump/dump.h"
#include "runtime/device.h"
#include "runtime/fault.h"
#include "runtime/fork.h"
#include "runtime/json.h"
#include "runtime/log.h"
#include "runtime/order/order.h"
#include "runtime/settings.h"
#include "runtime/soc.h"

using namespace opwright;

namespace {

// Reported for every package: the prototypes of the aclnn functions are those of this version.
constexpr char kVersion[] = "9.1.0";
constexpr char kDriverVersion[] = "25.5.0";  // the first driver whose pointer attributes torch_npu uses

std::atomic<bool> initialized{false};

std::optional<int> whole_number(double value) {
  const bool fits = value >= 0 && value <= std::numeric_limits<int>::max() && value == std::trunc(value);
  return fits ? std::optional<int>(static_cast<int>(value)) : std::nullopt;
}

std::optional<int> whole_number(const std::string& digits) {
  int value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, value);
  return error == std::errc() && rest == end && value >= 0 ? std::optional<int>(value) : std::nullopt;
}

// {"defaultDevice": {"default_device": "0"}}
std::optional<int> default_device_in(const json::Value& file) {
  const json::Value* const entry = file.find("defaultDevice");
  const json::Value* const device = entry == nullptr ? nullptr : entry->find("default_device");
  if (device == nullptr) return std::nullopt;
  std::optional<int> id;
  if (const auto* const number = std::get_if<double>(&device->data)) id = whole_number(*number);
  if (device->text() != nullptr) id = whole_number(*device->text());
  require(id.has_value(), ACL_ERROR_INVALID_PARAM, "'default_device' is not the number of a device");
  return id;
}

// torch_npu always asks for exceptions of AI Cores to be dumped, of which there are none here. Its "dump" has nothing
// else; one that has is refused, rather than ignored with all that it asks for.
std::optional<data_dump::Config> dump_in(const json::Value& file) {
  const json::Value* const dump = file.find("dump");
  if (dump == nullptr) return std::nullopt;
  const json::Object* const entries = dump->object();
  if (entries != nullptr && entries->size() == 1 && entries->front().first == "dump_scene") return std::nullopt;
  data_dump::Config config = data_dump::read_config(*dump);
  require(config.refusal.empty(), ACL_ERROR_FEATURE_UNSUPPORTED, config.refusal);
  return config;
}

// The settings of a configuration file.
struct Configuration {
  std::optional<int> default_device;
  std::optional<data_dump::Config> dump;
};

Configuration read_configuration(const char* path) {
  if (path == nullptr || *path == '\0') return {};
  const json::Value file = json::read(path);
  return {default_device_in(file), dump_in(file)};
}

const char* version_of(const char* package) { return std::strcmp(package, "driver") == 0 ? kDriverVersion : kVersion; }

template <size_t N>
void copy(char (&target)[N], const char* source) {
  std::snprintf(target, N, "%s", source);
}

// torch_npu's release thread sleeps a microsecond when it has no work. Linux wakes it each 50 or so, which takes up to
// a third of a core in a virtual machine for as long as the process lives. Threads inherit what their maker allows.
void let_timers_be_late() {
  constexpr int kNanoseconds = 500'000;
  if (prctl(PR_GET_TIMERSLACK) < kNanoseconds) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(kNanoseconds));
}

}  // namespace

aclError aclInit(const char* configPath) {
  return call(
      "aclInit",
      [&] {
        settings();  // a wrong variable is reported here, before anything else happens
        Configuration configuration = read_configuration(configPath);
        require(!initialized.exchange(true), ACL_ERROR_REPEAT_INITIALIZE, "ACL is initialised already in this process");
        if (configuration.default_device) set_default_device(*configuration.default_device);
        if (configuration.dump) data_dump::set_initial(std::move(*configuration.dump));
        install_fault_handler();
        order::start();
        let_timers_be_late();
      },
      arg("configPath", configPath));
}

aclError aclFinalize() {
  return call("aclFinalize", [&] {
    require_not_forked();
    require(initialized.exchange(false), ACL_ERROR_REPEAT_FINALIZE, "ACL is not initialised");
    events().end_waits();  // the thread that was to record one may have ended
    for (size_t id = 0; id < device_count(); ++id) {
      if (device_at(static_cast<int>(id)).active()) device_at(static_cast<int>(id)).reset();
    }
    data_dump::forget();
  });
}

const char* aclGetRecentErrMsg() {
  // The text must outlive the call: it belongs to the thread until the next call.
  thread_local std::string message;
  message = take_recent_message();
  return message.c_str();
}

aclError aclrtGetLastError(aclrtLastErrLevel) { return last_error(true); }

aclError aclrtPeekAtLastError(aclrtLastErrLevel) { return last_error(false); }

aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
  return call("aclrtGetVersion", [&] {
    int32_t& major = out(majorVersion, "majorVersion");
    int32_t& minor = out(minorVersion, "minorVersion");
    int32_t& patch = out(patchVersion, "patchVersion");
    major = ACL_MAJOR_VERSION;
    minor = ACL_MINOR_VERSION;
    patch = ACL_PATCH_VERSION;
  });
}

const char* aclrtGetSocName() {
  try {
    return settings().soc.c_str();
  } catch (...) {
    record_current_exception("aclrtGetSocName");
    return nullptr;
  }
}

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version) {
  return call(
      "aclsysGetCANNVersion",
      [&] {
        require(name >= ACL_PKG_NAME_CANN && name <= ACL_PKG_NAME_DRIVER, ACL_ERROR_INVALID_PARAM, "package ",
                static_cast<int>(name), " does not exist");
        aclCANNPackageVersion& result = out(version, "version", ACL_ERROR_INVALID_PARAM);
        result = {};
        const char* const text = name == ACL_PKG_NAME_DRIVER ? kDriverVersion : kVersion;
        copy(result.version, text);
        int parts[3] = {};
        std::sscanf(text, "%d.%d.%d", &parts[0], &parts[1], &parts[2]);
        copy(result.majorVersion, std::to_string(parts[0]).c_str());
        copy(result.minorVersion, std::to_string(parts[1]).c_str());
        copy(result.releaseVersion, std::to_string(parts[2]).c_str());
      },
      arg("name", name));
}

// CANN's weights of the three parts; a version without a suffix is the latest of its three numbers.
aclError aclsysGetVersionNum(char* pkgName, int32_t* versionNum) {
  return call(
      "aclsysGetVersionNum",
      [&] {
        const char* const version = version_of(&out(pkgName, "pkgName", ACL_ERROR_INVALID_PARAM));
        int major = 0, minor = 0, patch = 0;
        std::sscanf(version, "%d.%d.%d", &major, &minor, &patch);
        out(versionNum, "versionNum", ACL_ERROR_INVALID_PARAM) = major * 10'000'000 + minor * 100'000 + patch * 1'000;
      },
      arg("pkgName", static_cast<const char*>(pkgName)));
}

aclError aclsysGetVersionStr(char* pkgName, char* versionStr) {
  return call(
      "aclsysGetVersionStr",
      [&] {
        out(pkgName, "pkgName", ACL_ERROR_INVALID_PARAM);
        out(versionStr, "versionStr", ACL_ERROR_INVALID_PARAM);
        std::strcpy(versionStr, version_of(pkgName));
      },
      arg("pkgName", static_cast<const char*>(pkgName)));
}

void aclAppLog(aclLogLevel logLevel, const char* func, const char* file, uint32_t line, const char* fmt, ...) {
  if (!log::writes_own(logLevel)) return;
  char message[1024];
  va_list arguments;
  va_start(arguments, fmt);
  std::vsnprintf(message, sizeof message, fmt, arguments);
  va_end(arguments);
  log::write(logLevel, {file, line, func}, message);
}

aclError aclGetCannAttributeList(const aclCannAttr** cannAttrList, size_t* num) {
  return call("aclGetCannAttributeList", [&] {
    static const aclCannAttr kAll[] = {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16, ACL_CANN_ATTR_JIT_COMPILE};
    out(cannAttrList, "cannAttrList", ACL_ERROR_INVALID_PARAM) = kAll;
    out(num, "num", ACL_ERROR_INVALID_PARAM) = std::size(kAll);
  });
}

aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t* value) {
  return call(
      "aclGetCannAttribute",
      [&] {
        int32_t& result = out(value, "value", ACL_ERROR_INVALID_PARAM);
        switch (cannAttr) {
          case ACL_CANN_ATTR_INF_NAN:
          case ACL_CANN_ATTR_BF16:
            result = soc().bfloat16 ? 1 : 0;
            return;
          case ACL_CANN_ATTR_JIT_COMPILE:
            result = soc().aclnn_default ? 0 : 1;
            return;
          default:
            fail(ACL_ERROR_INVALID_PARAM, "attribute ", static_cast<int>(cannAttr), " does not exist");
        }
      },
      arg("cannAttr", cannAttr));
}

aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t* value) {
  return call(
      "aclGetDeviceCapability",
      [&] {
        device_at(static_cast<int>(deviceId));
        int64_t& result = out(value, "value", ACL_ERROR_INVALID_PARAM);
        switch (deviceInfo) {
          case ACL_DEVICE_INFO_AI_CORE_NUM:
            result = soc().cube_cores;
            return;
          case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
            result = soc().vector_cores;
            return;
          case ACL_DEVICE_INFO_L2_SIZE:
            result = static_cast<int64_t>(soc().l2_cache);
            return;
          default:
            fail(ACL_ERROR_INVALID_PARAM, "device info ", static_cast<int>(deviceInfo), " does not exist");
        }
      },
      arg("deviceId", deviceId), arg("deviceInfo", deviceInfo));
}
