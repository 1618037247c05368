// native/support/hal.cpp
// libascend_hal: what torch_npu asks the driver, without initialising ACL.
#include "hal/hal.h"

#include "runtime/call.h"
#include "runtime/settings.h"

using namespace opwright;

namespace {

// From 0x071905 on torch_npu reads time stamps from the NPU host counter; below it, from the host's clock.
constexpr int32_t kApiVersion = 0x071904;
// MsprofSysCycleTime counts nanoseconds.
constexpr int64_t kHostClockKilohertz = 1'000'000;

template <class T>
T& checked(T* pointer, const char* name) {
  return out(pointer, name, DRV_ERROR_INVALID_VALUE);
}

}  // namespace

// The driver knows nothing of ASCEND_RT_VISIBLE_DEVICES; torch_npu applies it to this number.
int drvGetDevNum(int* num) {
  return call("drvGetDevNum", [&] { checked(num, "num") = settings().devices; });
}

int32_t halGetAPIVersion(int32_t* version) {
  return call("halGetAPIVersion", [&] { checked(version, "version") = kApiVersion; });
}

int32_t halGetDeviceInfo(uint32_t device, int32_t module, int32_t info, int64_t* value) {
  return call(
      "halGetDeviceInfo",
      [&] {
        require(device < static_cast<uint32_t>(settings().devices), DRV_ERROR_INVALID_DEVICE, "device ", device,
                " does not exist; there are ", settings().devices);
        require(module == MODULE_TYPE_SYSTEM && info == INFO_TYPE_HOST_OSC_FREQUE, DRV_ERROR_NOT_SUPPORT, "module ",
                module, ", information ", info, " is not available; only the host clock's frequency is (module ",
                static_cast<int>(MODULE_TYPE_SYSTEM), ", information ", static_cast<int>(INFO_TYPE_HOST_OSC_FREQUE),
                ")");
        checked(value, "value") = kHostClockKilohertz;
      },
      arg("device", device), arg("module", module), arg("info", info));
}
