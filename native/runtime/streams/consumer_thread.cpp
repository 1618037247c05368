// native/runtime/streams/consumer_thread.cpp
#include "runtime/streams/consumer_thread.h"

#include <pthread.h>

#include <cstring>

#include "runtime/device.h"
#include "runtime/streams/capture/capture.h"

namespace opwright {
namespace {

// The name that torch_npu gives the thread before its first call (NPUAffinityController.cpp, ACL_THREAD).
constexpr char kConsumer[] = "acl_thread";

bool is_consumer() noexcept {
  char name[16] = {};
  return pthread_getname_np(pthread_self(), name, sizeof name) == 0 && std::strcmp(name, kConsumer) == 0;
}

}  // namespace

bool on_consumer_thread() noexcept {
  thread_local const bool consumer = is_consumer();
  return consumer;
}

void require_default_stream_usable() {
  require_no_capture_here("work cannot go to the default stream", ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT);
}

void fail_on_stream(const char* function, aclrtStream stream, const Error& error) {
  const auto target = stream_of(stream);
  if (const auto sink = target->sink()) return sink->spoil(function, error);
  target->submit(make_task(function, [error] { throw error; }));
}

}  // namespace opwright
