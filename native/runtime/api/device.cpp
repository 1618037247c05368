// native/runtime/api/device.cpp
// Devices, contexts and health.
#include "runtime/device.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "acl/acl_rt.h"
#include "runtime/call.h"
#include "runtime/memory/memory.h"
#include "runtime/settings.h"
#include "runtime/soc.h"
#include "runtime/trace.h"

using namespace opwright;

namespace {

// The device that the thread itself has set; the default device does not count.
Device& chosen_device() {
  Device* const device = current_device_or_null();
  require(device != nullptr, ACL_ERROR_RT_CONTEXT_NULL,
          "this thread has no device; call aclrtSetDevice or aclrtSetCurrentContext first");
  return device_at(device->id());
}

}  // namespace

aclError aclrtSetDevice(int32_t deviceId) {
  return call(
      "aclrtSetDevice",
      [&] {
        set_current_device(deviceId);
        device_at(deviceId).acquire();
      },
      arg("deviceId", deviceId));
}

aclError aclrtGetDevice(int32_t* deviceId) {
  return call("aclrtGetDevice", [&] { out(deviceId, "deviceId") = chosen_device().id(); });
}

aclError aclrtResetDevice(int32_t deviceId) {
  return call("aclrtResetDevice", [&] { device_at(deviceId).release(); }, arg("deviceId", deviceId));
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
  return call("aclrtResetDeviceForce", [&] { device_at(deviceId).reset(); }, arg("deviceId", deviceId));
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  return call("aclrtGetDeviceCount", [&] { out(count, "count") = static_cast<uint32_t>(device_count()); });
}

// The twin stands for a device on a bus, so its processes are the host's: they copy what a kernel computed.
aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  return call("aclrtGetRunMode", [&] { out(runMode, "runMode") = ACL_HOST; });
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  return call("aclrtGetCurrentContext", [&] { out(context, "context") = &chosen_device(); });
}

// A device has one context, which creating makes the calling thread's and destroying leaves.
aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  return call(
      "aclrtCreateContext",
      [&] {
        aclrtContext& created = out(context, "context");
        set_current_device(deviceId);
        created = &device_at(deviceId);
      },
      arg("deviceId", deviceId));
}

aclError aclrtDestroyContext(aclrtContext context) {
  return call("aclrtDestroyContext", [&] { device_of_context(context); }, arg("context", context));
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  return call(
      "aclrtSetCurrentContext", [&] { set_current_device(device_of_context(context).id()); }, arg("context", context));
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream) {
  return call("aclrtCtxGetCurrentDefaultStream",
              [&] { out(stream, "stream") = current_device().default_stream().get(); });
}

aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active) {
  return call(
      "aclrtGetPrimaryCtxState",
      [&] {
        Device& device = device_at(deviceId);
        if (flags != nullptr) *flags = 0;
        out(active, "active") = device.active() ? 1 : 0;
      },
      arg("deviceId", deviceId));
}

aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid, int32_t* const logicDevId) {
  return call(
      "aclrtGetLogicDevIdByUserDevId",
      [&] {
        device_at(userDevid);
        out(logicDevId, "logicDevId") = settings().visible_devices[static_cast<size_t>(userDevid)];
      },
      arg("userDevid", userDevid));
}

aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
  return call(
      "aclrtDeviceCanAccessPeer",
      [&] { out(canAccessPeer, "canAccessPeer") = device_at(deviceId).id() != device_at(peerDeviceId).id() ? 1 : 0; },
      arg("deviceId", deviceId), arg("peerDeviceId", peerDeviceId));
}

aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
  return call(
      "aclrtDeviceEnablePeerAccess",
      [&] {
        device_at(peerDeviceId);  // copies between the twin's devices always work
        require(flags == 0, ACL_ERROR_RT_PARAM_INVALID, "flags ", flags, " are reserved and must be 0");
      },
      arg("peerDeviceId", peerDeviceId));
}

OPWRIGHT_REFUSE(aclError, aclrtDeviceDisablePeerAccess, (int32_t),
                "devices of the twin share the memory of one process; access between them cannot be disabled")

aclError aclrtDevicePeerAccessStatus(int32_t deviceId, int32_t peerDeviceId, int32_t* status) {
  return call(
      "aclrtDevicePeerAccessStatus",
      [&] {
        device_at(deviceId);
        device_at(peerDeviceId);
        out(status, "status") = deviceId == peerDeviceId ? 0 : 1;
      },
      arg("deviceId", deviceId), arg("peerDeviceId", peerDeviceId));
}

aclError aclrtDeviceGetStreamPriorityRange(int32_t* leastPriority, int32_t* greatestPriority) {
  return call("aclrtDeviceGetStreamPriorityRange", [&] {
    int32_t& least = out(leastPriority, "leastPriority");
    int32_t& greatest = out(greatestPriority, "greatestPriority");
    least = 7;  // CANN's numbers; the twin stores priorities and reads them back
    greatest = 0;
  });
}

aclError aclrtDeviceGetBareTgid(int32_t* pid) {
  return call("aclrtDeviceGetBareTgid", [&] { out(pid, "pid") = getpid(); });
}

aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid* uuid) {
  return call(
      "aclrtDeviceGetUuid",
      [&] {
        device_at(deviceId);
        aclrtUuid& result = out(uuid, "uuid");
        result = {};
        std::memcpy(result.bytes, "opwright-twin", 13);
        result.bytes[15] = static_cast<char>(settings().visible_devices[static_cast<size_t>(deviceId)]);
      },
      arg("deviceId", deviceId));
}

aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout) {
  return call(
      "aclrtDeviceTaskAbort",
      [&] {
        device_at(deviceId);
        // Tasks that have not started are dropped; the running ones get the time to finish.
        for (const auto& stream : streams_of(deviceId)) stream->abort_pending();
        for (const auto& stream : streams_of(deviceId)) {
          require(stream->wait(std::chrono::milliseconds(timeout)), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
                  "the running task of stream ", stream->id(), " has not finished after ", timeout, " ms");
        }
      },
      arg("deviceId", deviceId), arg("timeout", timeout));
}

aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t* value) {
  return call(
      "aclrtGetDeviceInfo",
      [&] {
        device_at(static_cast<int>(deviceId));
        int64_t& result = out(value, "value");
        switch (attr) {
          case ACL_DEV_ATTR_AICPU_CORE_NUM:
            result = static_cast<int64_t>(sysconf(_SC_NPROCESSORS_ONLN));
            return;
          case ACL_DEV_ATTR_AICORE_CORE_NUM:
          case ACL_DEV_ATTR_CUBE_CORE_NUM:
            result = soc().cube_cores;
            return;
          case ACL_DEV_ATTR_VECTOR_CORE_NUM:
            result = soc().vector_cores;
            return;
          case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
            result = static_cast<int64_t>(memory::total_bytes());
            return;
          case ACL_DEV_ATTR_L2_CACHE_SIZE:
            result = static_cast<int64_t>(soc().l2_cache);
            return;
          case ACL_DEV_ATTR_PHY_CHIP_ID:
            result = settings().visible_devices[deviceId];
            return;
          case ACL_DEV_ATTR_IS_VIRTUAL:
            result = 0;
            return;
          default:
            fail(ACL_ERROR_RT_PARAM_INVALID, "attribute ", static_cast<int>(attr), " is not available on the twin");
        }
      },
      arg("deviceId", deviceId), arg("attr", attr));
}

// Both features are updates and messages of hardware that the twin does not have.
aclError aclrtGetDeviceCapability(int32_t deviceId, aclrtDevFeatureType devFeatureType, int32_t* value) {
  return call(
      "aclrtGetDeviceCapability",
      [&] {
        device_at(deviceId);
        require(devFeatureType == ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV ||
                    devFeatureType == ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV,
                ACL_ERROR_RT_PARAM_INVALID, "feature ", static_cast<int>(devFeatureType),
                " does not exist; allowed: 1, 21");
        out(value, "value") = ACL_DEV_FEATURE_NOT_SUPPORT;
      },
      arg("deviceId", deviceId), arg("devFeatureType", devFeatureType));
}

aclError aclrtCheckArchCompatibility(const char* socVersion, int32_t* canCompatible) {
  return call("aclrtCheckArchCompatibility", [&] {
    const std::string name = &out(socVersion, "socVersion");
    const Soc* const asked = find_soc(name);
    require(asked != nullptr, ACL_ERROR_RT_PARAM_INVALID, "parameter 'socVersion' is '", name,
            "'; allowed: ", known_soc_names());
    out(canCompatible, "canCompatible") = std::strcmp(asked->short_name, soc().short_name) == 0 ? 1 : 0;
  });
}

// A device of the twin does not fail: the errors of its tasks leave it as it was.
aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus* deviceStatus) {
  return call(
      "aclrtQueryDeviceStatus",
      [&] {
        device_at(deviceId);
        out(deviceStatus, "deviceStatus") = ACL_RT_DEVICE_STATUS_NORMAL;
      },
      arg("deviceId", deviceId));
}

aclError aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo* utilizationInfo) {
  return call(
      "aclrtGetDeviceUtilizationRate",
      [&] {
        // Share of the time since the last question (at first: since the trace clock's start) that workers were busy.
        static std::mutex mutex;
        static std::map<int, std::pair<double, double>> previous;  // device -> (time, busy)
        device_at(deviceId);
        double busy = 0;
        for (const auto& stream : streams_of(deviceId)) busy += stream->busy_microseconds();
        const std::lock_guard<std::mutex> lock(mutex);
        const double now = trace::now();
        const auto [then, before] = std::exchange(previous[deviceId], std::pair(now, busy));
        const double share = now > then ? 100.0 * (busy - before) / (now - then) : 0.0;
        aclrtUtilizationInfo& result = out(utilizationInfo, "utilizationInfo");
        result.cubeUtilization = result.vectorUtilization = static_cast<int32_t>(std::clamp(share, 0.0, 100.0));
        result.aicpuUtilization = 0;
        result.memoryUtilization = static_cast<int32_t>(100 * memory::used_bytes(deviceId) / memory::total_bytes());
      },
      arg("deviceId", deviceId));
}

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  return call(
      "aclrtSetDeviceSatMode",
      [&] {
        // CPU kernels follow IEEE 754: infinity and NaN are kept. Saturation exists on old chips only.
        require(mode == ACL_RT_OVERFLOW_MODE_INFNAN || !soc().bfloat16, ACL_ERROR_FEATURE_UNSUPPORTED,
                "saturation mode is not available on ", soc().name, "; use the INF/NAN mode");
      },
      arg("mode", mode));
}

// Memory that went bad on hardware: the twin has none, so there is nothing to list and nothing to repair.
aclError aclrtGetMemUceInfo(int32_t deviceId, aclrtMemUceInfo*, size_t, size_t* retSize) {
  return call(
      "aclrtGetMemUceInfo",
      [&] {
        device_at(deviceId);
        out(retSize, "retSize") = 0;
      },
      arg("deviceId", deviceId));
}

aclError aclrtMemUceRepair(int32_t deviceId, aclrtMemUceInfo*, size_t arraySize) {
  return call(
      "aclrtMemUceRepair",
      [&] {
        device_at(deviceId);
        require(arraySize == 0, ACL_ERROR_RT_PARAM_INVALID, "the twin's memory has no errors to repair, but ",
                arraySize, " were named");
      },
      arg("deviceId", deviceId));
}

// There is no hardware that could fail. Nothing is recorded: torch_npu asks on Ascend950 after every failure of an
// operator, whose own message would be lost.
aclError aclrtGetErrorVerbose(int32_t, aclrtErrorInfo*) { return ACL_ERROR_FEATURE_UNSUPPORTED; }
OPWRIGHT_REFUSE(aclError, aclrtRepairError, (int32_t, const aclrtErrorInfo*), "there is no hardware that could fail")
