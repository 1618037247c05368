// native/runtime/api/stream.cpp
// Streams: creation, order, waiting, attributes, values in device memory.
#include <atomic>

#include "acl/acl_rt.h"
#include "runtime/call.h"
#include "runtime/device.h"
#include "runtime/explore/explore.h"
#include "runtime/memory/memory.h"
#include "runtime/order/order.h"
#include "runtime/streams/capture/capture.h"
#include "runtime/streams/capture/task_group.h"
#include "runtime/streams/flag_task.h"
#include "runtime/streams/long_wait.h"

using namespace opwright;

namespace {

// CANN's timeouts: milliseconds, negative for ever.
Stream::Timeout timeout_of(int32_t milliseconds) {
  if (milliseconds < 0) return std::nullopt;
  return std::chrono::milliseconds(milliseconds);
}

FailureMode failure_mode_of(uint64_t mode) {
  require(mode == ACL_CONTINUE_ON_FAILURE || mode == ACL_STOP_ON_FAILURE, ACL_ERROR_RT_PARAM_INVALID, "failure mode ",
          mode, " does not exist; allowed: 0 (continue), 1 (stop)");
  return mode == ACL_STOP_ON_FAILURE ? FailureMode::kStop : FailureMode::kContinue;
}

void open_stream(aclrtStream* stream, uint32_t priority, uint32_t flags) {
  aclrtStream& result = out(stream, "stream");
  const auto made = create_stream(current_device().id(), priority);
  made->set_flags(flags);
  result = made.get();
}

void wait_for(aclrtStream stream, Stream::Timeout timeout) {
  const auto target = stream_of(stream);
  require_not_captured(*target, "cannot wait for");
  require_no_update(*target);
  synchronize(*target, timeout);
}

void wait_for_device(Stream::Timeout timeout) {
  require_no_capture_here("cannot wait for the device");
  synchronize_device(current_device().id(), timeout);
}

std::atomic<uint64_t>& value_at(void* address) {
  require(reinterpret_cast<uintptr_t>(address) % sizeof(uint64_t) == 0, ACL_ERROR_RT_PARAM_INVALID, "address ", address,
          " is not aligned to 8 bytes");
  return *static_cast<std::atomic<uint64_t>*>(memory::checked_alias(address, sizeof(uint64_t), "devAddr"));
}

bool holds(uint64_t current, uint64_t value, uint32_t flag) {
  switch (flag) {
    case ACL_STREAM_WAIT_VALUE_GEQ:
      return static_cast<int64_t>(current - value) >= 0;  // cyclic comparison, as documented
    case ACL_STREAM_WAIT_VALUE_EQ:
      return current == value;
    case ACL_STREAM_WAIT_VALUE_AND:
      return (current & value) != 0;
    default:
      return ~(current | value) != 0;
  }
}

// Device memory is changed by stores that notify no one, so the worker has to look, and more seldom after a while.
void wait_for_value(const std::atomic<uint64_t>& target, uint64_t value, uint32_t flag, const void* address) {
  const auto reached = [&] { return holds(target.load(std::memory_order_acquire), value, flag); };
  if (reached()) return;
  const std::string what = text("the write of ", value, " to device memory at ", address, " (an external event)");
  require_wait_can_end(what);
  if (explore::enabled()) {
    explore::wait({what, explore::kAnyStream, reached});
    return;
  }
  constexpr std::chrono::milliseconds kEager(2);
  const auto begin = std::chrono::steady_clock::now();
  bool reported = false;
  while (!reached()) {
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (waited < kEager) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    require_not_aborted(what);
    if (reported || waited < kLongWait) continue;
    report_long_wait(what);
    reported = true;
  }
}

}  // namespace

aclError aclrtCreateStream(aclrtStream* stream) {
  return call("aclrtCreateStream", [&] { open_stream(stream, 0, 0); });
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  return call(
      "aclrtCreateStreamWithConfig", [&] { open_stream(stream, priority, flag); }, arg("priority", priority),
      arg("flag", flag));
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return call(
      "aclrtDestroyStream",
      [&] {
        require(stream != nullptr, ACL_ERROR_RT_PARAM_INVALID, "the default stream cannot be destroyed");
        require_not_forked();
        const auto target = streams().find(stream);
        require(capture_of(*target) == nullptr, ACL_ERROR_RT_STREAM_CAPTURED, "stream ", target->id(),
                " is being captured; end the capture first");
        drop_update(*target);
        target->wait(std::nullopt);
        streams().remove(stream);
        write_if_lost(target->failure());
      },
      arg("stream", stream));
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return call(
      "aclrtDestroyStreamForce",
      [&] {
        require(stream != nullptr, ACL_ERROR_RT_PARAM_INVALID, "the default stream cannot be destroyed");
        require_not_forked();
        require(capture_of(*streams().find(stream)) == nullptr, ACL_ERROR_RT_STREAM_CAPTURED,
                "the stream is being captured; end the capture first");
        const auto target = streams().remove(stream);
        target->abort_pending();
        write_if_lost(target->failure());
      },
      arg("stream", stream));
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  return call("aclrtSynchronizeStream", [&] { wait_for(stream, std::nullopt); }, arg("stream", stream));
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  return call(
      "aclrtSynchronizeStreamWithTimeout", [&] { wait_for(stream, timeout_of(timeout)); }, arg("stream", stream),
      arg("timeout", timeout));
}

aclError aclrtSynchronizeDevice() {
  return call("aclrtSynchronizeDevice", [&] { wait_for_device(std::nullopt); });
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  return call(
      "aclrtSynchronizeDeviceWithTimeout", [&] { wait_for_device(timeout_of(timeout)); }, arg("timeout", timeout));
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  return call(
      "aclrtStreamQuery",
      [&] {
        const auto target = stream_of(stream);
        require_not_captured(*target, "cannot query");
        const order::Moment moment = order::moment_of(*target);
        if (explore::enabled()) {
          explore::note_query({text("stream ", target->id()), target->id(), [&] { return target->idle(); }});
        }
        const bool idle = target->idle();
        if (idle) order::note_seen(moment);
        out(status, "status") = idle ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
      },
      arg("stream", stream));
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId) {
  return call("aclrtStreamGetId", [&] { out(streamId, "streamId") = stream_of(stream)->id(); }, arg("stream", stream));
}

aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t* flags) {
  return call("aclrtStreamGetFlags", [&] { out(flags, "flags") = stream_of(stream)->flags(); }, arg("stream", stream));
}

aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t* priority) {
  return call(
      "aclrtStreamGetPriority", [&] { out(priority, "priority") = stream_of(stream)->priority(); },
      arg("stream", stream));
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
  return call(
      "aclrtSetStreamFailureMode", [&] { stream_of(stream)->set_failure_mode(failure_mode_of(mode)); },
      arg("stream", stream), arg("mode", mode));
}

aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag) {
  return call(
      "aclrtSetStreamOverflowSwitch", [&] { stream_of(stream)->set_overflow_switch(flag); }, arg("stream", stream),
      arg("flag", flag));
}

aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t* flag) {
  return call(
      "aclrtGetStreamOverflowSwitch", [&] { out(flag, "flag") = stream_of(stream)->overflow_switch(); },
      arg("stream", stream));
}

aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue* value) {
  return call(
      "aclrtSetStreamAttribute",
      [&] {
        const aclrtStreamAttrValue& wanted = out(value, "value");
        const auto target = stream_of(stream);
        switch (stmAttrType) {
          case ACL_STREAM_ATTR_FAILURE_MODE:
            target->set_failure_mode(failure_mode_of(wanted.failureMode));
            return;
          case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
            target->set_overflow_switch(wanted.overflowSwitch);
            return;
          case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
          case ACL_STREAM_ATTR_CACHE_OP_INFO:
            return;  // labels for hardware profilers: they change no result
          case ACL_STREAM_ATTR_PRIORITY:
            fail(ACL_ERROR_FEATURE_UNSUPPORTED, "the priority of a stream is set when it is created");
        }
        fail(ACL_ERROR_RT_PARAM_INVALID, "stream attribute ", static_cast<int>(stmAttrType), " does not exist");
      },
      arg("stream", stream), arg("stmAttrType", stmAttrType));
}

// Upper bounds for the time of one operator or wait. A CPU kernel cannot be cut off, so none ends a task here
// (docs/differences.md); synchronizing with a timeout works.
aclError aclrtSetOpExecuteTimeOut(uint32_t timeout) {
  return call("aclrtSetOpExecuteTimeOut", [] {}, arg("timeout", timeout));
}

aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t* actualTimeout) {
  return call(
      "aclrtSetOpExecuteTimeOutV2", [&] { out(actualTimeout, "actualTimeout") = timeout; }, arg("timeout", timeout));
}

aclError aclrtSetOpWaitTimeout(uint32_t timeout) {
  return call("aclrtSetOpWaitTimeout", [] {}, arg("timeout", timeout));
}

aclError aclrtValueWrite(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
  return call(
      "aclrtValueWrite",
      [&] {
        std::atomic<uint64_t>& target = value_at(devAddr);
        const auto kind = value == 0 ? order::FlagUse::Kind::kClear : order::FlagUse::Kind::kSet;
        stream_of(stream)->submit(make_flag_task(
            "aclrtValueWrite", [&target, value] { target.store(value, std::memory_order_release); },
            {kind, devAddr, value}, {{devAddr, sizeof(uint64_t), /*read=*/false, /*written=*/true, "devAddr"}}));
      },
      arg("devAddr", devAddr), arg("value", value), arg("flag", flag), arg("stream", stream));
}

aclError aclrtValueWait(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
  return call(
      "aclrtValueWait",
      [&] {
        require(flag <= ACL_STREAM_WAIT_VALUE_NOR, ACL_ERROR_RT_PARAM_INVALID, "comparison ", flag,
                " does not exist; allowed: 0 (>=), 1 (==), 2 (and), 3 (nor)");
        const std::atomic<uint64_t>& target = value_at(devAddr);
        stream_of(stream)->submit(make_flag_task(
            "aclrtValueWait", [&target, value, flag, devAddr] { wait_for_value(target, value, flag, devAddr); },
            {order::FlagUse::Kind::kWait, devAddr, value},
            {{devAddr, sizeof(uint64_t), /*read=*/true, /*written=*/false, "devAddr"}}));
      },
      arg("devAddr", devAddr), arg("value", value), arg("flag", flag), arg("stream", stream));
}
