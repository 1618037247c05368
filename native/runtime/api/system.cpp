// native/runtime/api/system.cpp
// Start and end of the process's use of ACL, versions, error channel, log, SoC facts.
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "acl/acl_rt.h"
#include "runtime/call.h"
#include "runtime/device.h"
#include "runtime/fault.h"
#include "runtime/log.h"
#include "runtime/settings.h"
#include "runtime/soc.h"

using namespace opwright;

namespace {

// Reported for every package: the prototypes of the aclnn functions are those of this version.
constexpr char kVersion[] = "9.1.0";
constexpr char kDriverVersion[] = "25.5.0";  // the first driver whose pointer attributes torch_npu uses

std::atomic<bool> initialized{false};

// {"defaultDevice": {"default_device": "0"}}; the other entries of the file ask for dumps and the like.
std::optional<int> default_device_in(const char* path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  const std::string text = content.str();
  constexpr char kKey[] = "\"default_device\"";
  const size_t key = text.find(kKey);
  if (key == std::string::npos) return std::nullopt;
  const char* const rest = text.c_str() + key + sizeof kKey - 1;
  int device = 0;
  if (std::sscanf(rest, " : \"%d\"", &device) == 1 || std::sscanf(rest, " : %d", &device) == 1) return device;
  return std::nullopt;
}

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
        if (configPath != nullptr && *configPath != '\0') {
          require(access(configPath, R_OK) == 0, ACL_ERROR_INVALID_FILE, "configuration file '", configPath,
                  "' cannot be read");
          if (const std::optional<int> device = default_device_in(configPath)) set_default_device(*device);
        }
        require(!initialized.exchange(true), ACL_ERROR_REPEAT_INITIALIZE, "ACL is initialised already in this process");
        install_fault_handler();
        let_timers_be_late();
      },
      arg("configPath", configPath));
}

aclError aclFinalize() {
  return call("aclFinalize", [&] {
    require(initialized.exchange(false), ACL_ERROR_REPEAT_FINALIZE, "ACL is not initialised");
    for (size_t id = 0; id < device_count(); ++id) {
      if (device_at(static_cast<int>(id)).active()) device_at(static_cast<int>(id)).reset();
    }
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

aclError aclsysGetVersionStr(char* pkgName, char* versionStr) {
  return call(
      "aclsysGetVersionStr",
      [&] {
        out(pkgName, "pkgName", ACL_ERROR_INVALID_PARAM);
        out(versionStr, "versionStr", ACL_ERROR_INVALID_PARAM);
        std::strcpy(versionStr, std::strcmp(pkgName, "driver") == 0 ? kDriverVersion : kVersion);
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

// The dump interface as such: torch_npu opens and closes it around every process, with or without a dump to make.
aclError aclmdlInitDump() {
  return call("aclmdlInitDump", [] {});
}

aclError aclmdlFinalizeDump() {
  return call("aclmdlFinalizeDump", [] {});
}

// Data dump itself is not available: torch_npu only calls this with a file that asks for it.
OPWRIGHT_REFUSE(aclError, aclmdlSetDump, (const char*),
                "data dump is not implemented; OPWRIGHT_TRACE records the calls")
