// native/runtime/profiling/config.cpp
// aclprofConfig and aclprofStepInfo: create and destroy.
#include "runtime/profiling/config.h"

#include <memory>

#include "runtime/call.h"
#include "runtime/device.h"

using namespace opwright;

aclprofConfig* aclprofCreateConfig(uint32_t* deviceIdList, uint32_t deviceNums, aclprofAicoreMetrics aicoreMetrics,
                                   const aclprofAicoreEvents*, uint64_t dataTypeConfig) {
  aclprofConfig* created = nullptr;
  call(
      "aclprofCreateConfig",
      [&] {
        require(deviceNums == 0 || deviceIdList != nullptr, ACL_ERROR_INVALID_PARAM,
                "parameter 'deviceIdList' is null with deviceNums ", deviceNums);
        std::vector<uint32_t> devices(deviceIdList, deviceIdList + deviceNums);
        for (const uint32_t device : devices) {
          require(device < device_count(), ACL_ERROR_RT_INVALID_DEVICEID, "device ", device,
                  " does not exist; there are ", device_count());
        }
        auto config = std::make_unique<aclprofConfig>();
        config->devices = std::move(devices);
        created = config.release();
      },
      arg("deviceNums", deviceNums), arg("aicoreMetrics", aicoreMetrics), arg("dataTypeConfig", dataTypeConfig));
  return created;
}

aclError aclprofDestroyConfig(const aclprofConfig* profilerConfig) {
  return call("aclprofDestroyConfig", [&] {
    require(profilerConfig != nullptr, ACL_ERROR_INVALID_PARAM, "parameter 'profilerConfig' is null");
    std::unique_ptr<const aclprofConfig>{profilerConfig}.reset();
  });
}

aclprofStepInfo* aclprofCreateStepInfo(void) {
  aclprofStepInfo* created = nullptr;
  call("aclprofCreateStepInfo", [&] { created = std::make_unique<aclprofStepInfo>().release(); });
  return created;
}

void aclprofDestroyStepInfo(aclprofStepInfo* stepinfo) {
  call("aclprofDestroyStepInfo", [&] { std::unique_ptr<aclprofStepInfo>{stepinfo}.reset(); });
}
