// native/runtime/api/resource_limit.cpp
// Limits on the cores that a device, a stream or a thread may use.
#include "acl/acl_rt.h"
#include "runtime/call.h"
#include "runtime/device.h"

using namespace opwright;

namespace {

// The stream whose limits the calling thread uses (aclrtUseStreamResInCurrentThread), or nullptr.
thread_local std::shared_ptr<Stream> limiting_stream;

aclrtDevResLimitType checked(aclrtDevResLimitType type) {
  require(type == ACL_RT_DEV_RES_CUBE_CORE || type == ACL_RT_DEV_RES_VECTOR_CORE, ACL_ERROR_RT_PARAM_INVALID,
          "resource type ", static_cast<int>(type), " does not exist; allowed: 0 (cube cores), 1 (vector cores)");
  return type;
}

void check_limit(aclrtDevResLimitType type, uint32_t value) {
  const uint32_t most = all_cores()[static_cast<size_t>(checked(type))];
  require(value >= 1 && value <= most, ACL_ERROR_RT_PARAM_INVALID, "limit ", value,
          " is out of range; this SoC has 1 to ", most, " such cores");
}

}  // namespace

bool opwright::has_thread_limits() noexcept { return limiting_stream != nullptr || has_current_device(); }

aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t* value) {
  return call(
      "aclrtGetDeviceResLimit", [&] { out(value, "value") = device_at(deviceId).limits().get(checked(type)); },
      arg("deviceId", deviceId), arg("type", type));
}

aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value) {
  return call(
      "aclrtSetDeviceResLimit",
      [&] {
        check_limit(type, value);
        device_at(deviceId).limits().set(type, value);
      },
      arg("deviceId", deviceId), arg("type", type), arg("value", value));
}

aclError aclrtResetDeviceResLimit(int32_t deviceId) {
  return call(
      "aclrtResetDeviceResLimit",
      [&] {
        for (const auto type : {ACL_RT_DEV_RES_CUBE_CORE, ACL_RT_DEV_RES_VECTOR_CORE}) {
          device_at(deviceId).limits().set(type, all_cores()[static_cast<size_t>(type)]);
        }
      },
      arg("deviceId", deviceId));
}

aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value) {
  return call(
      "aclrtSetStreamResLimit",
      [&] {
        check_limit(type, value);
        stream_of(stream)->set_limit(static_cast<size_t>(type), value);
      },
      arg("stream", stream), arg("type", type), arg("value", value));
}

aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t* value) {
  return call(
      "aclrtGetStreamResLimit", [&] { out(value, "value") = limit_of(*stream_of(stream), checked(type)); },
      arg("stream", stream), arg("type", type));
}

aclError aclrtResetStreamResLimit(aclrtStream stream) {
  return call(
      "aclrtResetStreamResLimit",
      [&] {
        const auto target = stream_of(stream);
        target->set_limit(ACL_RT_DEV_RES_CUBE_CORE, 0);
        target->set_limit(ACL_RT_DEV_RES_VECTOR_CORE, 0);
      },
      arg("stream", stream));
}

aclError aclrtUseStreamResInCurrentThread(aclrtStream stream) {
  return call("aclrtUseStreamResInCurrentThread", [&] { limiting_stream = stream_of(stream); }, arg("stream", stream));
}

aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream) {
  return call(
      "aclrtUnuseStreamResInCurrentThread",
      [&] {
        stream_of(stream);
        limiting_stream.reset();
      },
      arg("stream", stream));
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
  return call(
      "aclrtGetResInCurrentThread",
      [&] {
        out(value, "value") = limiting_stream != nullptr ? limit_of(*limiting_stream, checked(type))
                                                         : current_device().limits().get(checked(type));
      },
      arg("type", type));
}
