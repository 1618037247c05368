// native/runtime/api/notify.cpp
// Notifies: a record on one stream lets one wait on another stream end.
#include "acl/acl_rt.h"
#include "runtime/call.h"
#include "runtime/device.h"
#include "runtime/streams/event.h"
#include "runtime/streams/flag_task.h"

using namespace opwright;

namespace {

Handles<ExternalFlag>& notifies() {
  static auto* const instance = new Handles<ExternalFlag>("notify", ACL_ERROR_RT_PARAM_INVALID);
  return *instance;
}

std::shared_ptr<ExternalFlag> flag_of(aclrtNotify notify) {
  require_not_forked();
  require(notify != nullptr, ACL_ERROR_RT_PARAM_INVALID, "parameter 'notify' is null");
  return notifies().find(notify);
}

}  // namespace

aclError aclrtCreateNotify(aclrtNotify* notify, uint64_t flag) {
  return call(
      "aclrtCreateNotify",
      [&] {
        current_device();  // a notify belongs to a context
        require(flag <= ACL_NOTIFY_DEVICE_USE_ONLY, ACL_ERROR_RT_PARAM_INVALID, "parameter 'flag' is ", flag,
                "; allowed: 0 (ACL_NOTIFY_DEFAULT), 1 (ACL_NOTIFY_DEVICE_USE_ONLY)");
        aclrtNotify& result = out(notify, "notify");
        result = notifies().add(std::make_shared<ExternalFlag>());
      },
      arg("flag", flag));
}

// Records and waits that are queued keep the flag.
aclError aclrtDestroyNotify(aclrtNotify notify) {
  return call(
      "aclrtDestroyNotify",
      [&] {
        flag_of(notify);
        notifies().remove(notify);
      },
      arg("notify", notify));
}

aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream) {
  return call_on_stream(
      "aclrtRecordNotify", stream,
      [&] {
        const auto flag = flag_of(notify);
        stream_of(stream)->submit(
            make_flag_task("aclrtRecordNotify", [flag] { flag->set(); }, {order::FlagUse::Kind::kSet, flag.get()}));
      },
      arg("notify", notify));
}

// No timeout ends a task here (docs/differences.md); a wait that takes long is reported.
aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout) {
  return call_on_stream(
      "aclrtWaitAndResetNotify", stream,
      [&] {
        const auto flag = flag_of(notify);
        stream_of(stream)->submit(make_flag_task("aclrtWaitAndResetNotify",
                                                 [flag, notify] { flag->wait_and_clear(notify); },
                                                 {order::FlagUse::Kind::kWait, flag.get()}));
      },
      arg("notify", notify), arg("timeout", timeout));
}
