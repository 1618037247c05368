// native/runtime/api/event.cpp
#include "runtime/streams/event.h"

#include <chrono>
#include <cmath>

#include "acl/acl_rt.h"
#include "runtime/call.h"
#include "runtime/device.h"
#include "runtime/explore/explore.h"
#include "runtime/order/order.h"
#include "runtime/streams/consumer_thread.h"

using namespace opwright;

namespace {

constexpr uint32_t kKnownFlags = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE |
                                 ACL_EVENT_DEVICE_USE_ONLY | ACL_EVENT_EXTERNAL;

void create_event(aclrtEvent* event, uint32_t flag) {
  current_device();  // an event belongs to a context
  // torch_npu tests for this code before it uses IPC events.
  require((flag & ACL_EVENT_IPC) == 0, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "events are not shared between processes");
  require((flag & ~kKnownFlags) == 0, ACL_ERROR_RT_PARAM_INVALID, "event flags ", flag & ~kKnownFlags, " do not exist");
  aclrtEvent& result = out(event, "event");
  result = events().add(std::make_shared<Event>(flag));
}

std::shared_ptr<Event> event_of(aclrtEvent event) {
  require_not_forked();
  require(event != nullptr, ACL_ERROR_RT_PARAM_INVALID, "parameter 'event' is null");
  return events().find(event);
}

// torch_npu has a consumer thread for each device. One records an event and destroys it, another waits for it, and
// nothing orders the two: the wait can come before the record and after the destruction. The program has ordered all
// three, so the stream waits for the record. On every other thread the order of the calls is the program's own.
void make_wait(aclrtEvent event, const std::shared_ptr<Stream>& stream) {
  if (!on_consumer_thread()) return event_of(event)->make_wait(stream);
  if (const auto target = events().find_pending(event)) target->make_wait_for_coming_record(stream);
}

// All that the host launches from now on happens behind a record that it has seen.
bool is_complete(const Event& event) {
  if (explore::enabled()) {
    const auto awaited = event.last();
    explore::note_query({"the record of an event", awaited != nullptr ? awaited->stream_id() : explore::kAnyStream,
                         [&] { return event.complete(); }});
  }
  if (!event.complete()) return false;
  if (const auto completion = event.last()) order::note_seen(completion->moment());
  return true;
}

double time_of(const Event& event, const char* which) {
  event.require_not_captured("cannot measure the time of");
  const auto completion = event.last();
  require(completion != nullptr && completion->finished(), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, which,
          completion == nullptr ? " was not recorded" : " has not completed; synchronize first");
  return completion->time();
}

void wait_for(const Event& event, Stream::Timeout timeout) {
  event.require_not_captured("cannot wait for");
  require(!event.external(), ACL_ERROR_RT_PARAM_INVALID, "the host cannot wait for an external event");
  const auto completion = event.last();
  if (completion == nullptr) return;
  require(completion->wait(timeout), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "the event has not completed after ",
          timeout.value_or(std::chrono::milliseconds(0)).count(), " ms");
  order::note_seen(completion->moment());
  const auto stream = completion->stream();
  if (stream == nullptr) return;
  if (auto failure = stream->take_failure()) report(std::move(*failure));
}

}  // namespace

// Serves everything that an event without flags of its own can be used for.
aclError aclrtCreateEvent(aclrtEvent* event) {
  constexpr uint32_t kUses = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE;
  return call("aclrtCreateEvent", [&] { create_event(event, kUses); });
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return call("aclrtCreateEventWithFlag", [&] { create_event(event, flag); }, arg("flag", flag));
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return call("aclrtCreateEventExWithFlag", [&] { create_event(event, flag); }, arg("flag", flag));
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  return call(
      "aclrtDestroyEvent",
      [&] {
        event_of(event);
        events().destroy(event);
      },
      arg("event", event));
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return call_on_stream(
      "aclrtRecordEvent", stream, [&] { event_of(event)->record(stream_of(stream)); }, arg("event", event));
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  return call_on_stream(
      "aclrtResetEvent", stream, [&] { event_of(event)->reset(stream_of(stream)); }, arg("event", event));
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return call_on_stream(
      "aclrtStreamWaitEvent", stream, [&] { make_wait(event, stream_of(stream)); }, arg("event", event));
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return call("aclrtSynchronizeEvent", [&] { wait_for(*event_of(event), std::nullopt); }, arg("event", event));
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  return call(
      "aclrtSynchronizeEventWithTimeout",
      [&] {
        const auto target = event_of(event);
        wait_for(*target, timeout < 0 ? Stream::Timeout() : std::chrono::milliseconds(timeout));
      },
      arg("event", event), arg("timeout", timeout));
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  return call(
      "aclrtQueryEvent",
      [&] {
        const auto target = event_of(event);
        target->require_not_captured("cannot query");
        out(status, "status") = is_complete(*target) ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
      },
      arg("event", event));
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  return call(
      "aclrtQueryEventStatus",
      [&] {
        const auto target = event_of(event);
        target->require_not_captured("cannot query");
        // Never recorded counts as complete, as for CUDA; torch's Event.query() relies on it.
        out(status, "status") =
            is_complete(*target) ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
      },
      arg("event", event));
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  return call(
      "aclrtQueryEventWaitStatus",
      [&] {
        const auto target = event_of(event);
        target->require_not_captured("cannot query");
        out(status, "status") = is_complete(*target) ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
      },
      arg("event", event));
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  return call(
      "aclrtEventElapsedTime",
      [&] {
        const double start = time_of(*event_of(startEvent), "the start event");
        const double end = time_of(*event_of(endEvent), "the end event");
        require(end >= start, ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "the end event completed ", start - end,
                " microseconds before the start event");
        out(ms, "ms") = static_cast<float>((end - start) / 1000.0);
      },
      arg("startEvent", startEvent), arg("endEvent", endEvent));
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
  return call(
      "aclrtEventGetTimestamp",
      [&] {
        out(timestamp, "timestamp") = static_cast<uint64_t>(std::llround(time_of(*event_of(event), "the event")));
      },
      arg("event", event));
}
