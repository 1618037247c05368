// native/runtime/api/callback.cpp
#include "runtime/streams/callback.h"

#include <pthread.h>

#include "acl/acl_rt.h"
#include "runtime/call.h"
#include "runtime/device.h"
#include "runtime/gil.h"
#include "runtime/order/order.h"
#include "runtime/streams/host_task.h"

using namespace opwright;

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return call(
      "aclrtSubscribeReport",
      [&] {
        expect_python_on_workers();  // the thread's callbacks may be Python's
        subscribe(threadId, stream_of(stream));
      },
      arg("threadId", threadId), arg("stream", stream));
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return call(
      "aclrtUnSubscribeReport", [&] { unsubscribe(threadId, stream_of(stream)); }, arg("threadId", threadId),
      arg("stream", stream));
}

aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType, aclrtStream stream) {
  return call(
      "aclrtLaunchCallback",
      [&] {
        require(fn != nullptr, ACL_ERROR_RT_PARAM_INVALID, "parameter 'fn' is null");
        launch_callback(fn, userData, blockType == ACL_CALLBACK_BLOCK, stream_of(stream));
      },
      arg("blockType", blockType), arg("stream", stream));
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
  return call(
      "aclrtLaunchHostFunc",
      [&] {
        require(fn != nullptr, ACL_ERROR_RT_PARAM_INVALID, "parameter 'fn' is null");
        expect_python_on_workers();  // torch_npu's function may call Python's
        stream_of(stream)->submit(
            make_host_task("aclrtLaunchHostFunc", [fn, args](const order::HostFunction::Call& call) {
              const order::RunningFunction running(call);
              fn(args);
            }));
      },
      arg("stream", stream));
}

aclError aclrtProcessReport(int32_t timeout) {
  return call(
      "aclrtProcessReport",
      [&] {
        const Stream::Timeout limit =
            timeout < 0 ? Stream::Timeout() : Stream::Timeout(std::chrono::milliseconds(timeout));
        require(process_reports(static_cast<uint64_t>(pthread_self()), limit), ACL_ERROR_RT_REPORT_TIMEOUT,
                "no callback arrived within ", timeout, " ms");
      },
      arg("timeout", timeout));
}
