// tests/native/stream_test.cpp
// Streams, events, callbacks: order, waiting, timing, queries.
#include <pthread.h>
#include <sys/prctl.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "streams.h"

using namespace opwright::test;

SCENARIO(tasks_run_in_the_order_of_their_calls) {
  start();
  const aclrtStream stream = new_stream();
  static std::vector<long> seen;
  for (long i = 0; i < 1000; ++i) {
    OK(aclrtLaunchHostFunc(
        stream, [](void* i) { seen.push_back(reinterpret_cast<long>(i)); }, reinterpret_cast<void*>(i)));
  }
  OK(aclrtSynchronizeStream(stream));
  CHECK_EQ(seen.size(), 1000u);
  for (long i = 0; i < 1000; ++i) CHECK_EQ(seen[static_cast<size_t>(i)], i);
  OK(aclrtDestroyStream(stream));
}

SCENARIO(a_call_returns_before_its_task_has_run) {
  start();
  const aclrtStream stream = new_stream();
  Gate gate;
  gate.close_on(stream);
  aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
  OK(aclrtStreamQuery(stream, &status));
  CHECK_EQ(status, ACL_STREAM_STATUS_NOT_READY);
  REFUSED(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046, "aclrtSynchronizeStreamWithTimeout", "20 ms");
  REFUSED(aclrtSynchronizeDeviceWithTimeout(20), 507046, "20 ms");
  gate.open();
  OK(aclrtSynchronizeStreamWithTimeout(stream, 300000));
  OK(aclrtStreamQuery(stream, &status));
  CHECK_EQ(status, ACL_STREAM_STATUS_COMPLETE);
  OK(aclrtDestroyStream(stream));
}

SCENARIO(a_stream_waits_for_the_event_of_another) {
  start();
  const aclrtStream first = new_stream();
  const aclrtStream second = new_stream();
  const aclrtEvent event = new_event();
  static std::atomic<int> order{0};
  static int first_at = 0;
  static int second_at = 0;
  Gate gate;
  gate.close_on(first);
  OK(aclrtLaunchHostFunc(first, [](void*) { first_at = ++order; }, nullptr));
  OK(aclrtRecordEvent(event, first));
  OK(aclrtStreamWaitEvent(second, event));
  OK(aclrtLaunchHostFunc(second, [](void*) { second_at = ++order; }, nullptr));
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
  OK(aclrtQueryEventStatus(event, &status));
  CHECK_EQ(status, ACL_EVENT_RECORDED_STATUS_NOT_READY);
  OK(aclrtDestroyEvent(event));  // pending waits keep what they need
  gate.open();
  OK(aclrtSynchronizeStream(second));
  CHECK_EQ(first_at, 1);
  CHECK_EQ(second_at, 2);
  OK(aclrtDestroyStream(first));
  OK(aclrtDestroyStream(second));
}

namespace {

// Runs `body` on a thread that the runtime takes for torch_npu's consumer thread of the device.
std::thread consumer_of(int device, std::function<void()> body) {
  return std::thread([device, body = std::move(body)] {
    pthread_setname_np(pthread_self(), "acl_thread");
    OK(aclrtSetDevice(device));
    body();
  });
}

}  // namespace

SCENARIO(a_consumer_thread_waits_for_an_event_that_another_one_has_destroyed) {
  start();
  const aclrtStream first = new_stream();
  OK(aclrtSetDevice(1));
  const aclrtStream second = new_stream();
  const aclrtEvent event = new_event();
  static std::atomic<bool> recorded{false};
  static bool seen = false;
  Gate gate;
  consumer_of(0, [&] {
    gate.close_on(first);
    OK(aclrtLaunchHostFunc(first, [](void*) { recorded = true; }, nullptr));
    OK(aclrtRecordEvent(event, first));
    OK(aclrtDestroyEvent(event));
  }).join();
  REFUSED(aclrtStreamWaitEvent(second, event), 107000, "does not exist", "it was destroyed");
  REFUSED(aclrtDestroyEvent(event), 107000, "it was destroyed");
  const auto wait = [&] {
    OK(aclrtStreamWaitEvent(second, event));
    OK(aclrtLaunchHostFunc(second, [](void*) { seen = recorded.load(); }, nullptr));
  };
  consumer_of(1, wait).join();
  gate.open();
  OK(aclrtSynchronizeStream(second));
  CHECK(seen);
  consumer_of(1, wait).join();  // nothing is left to wait for
  OK(aclrtSynchronizeStream(second));
  OK(aclrtDestroyStream(first));
  OK(aclrtDestroyStream(second));
}

SCENARIO(a_consumer_thread_waits_for_a_record_that_another_one_has_yet_to_make) {
  start();
  const aclrtStream first = new_stream();
  OK(aclrtSetDevice(1));
  const aclrtStream second = new_stream();
  static std::atomic<int> order{0};
  static int first_at = 0;
  static int second_at = 0;
  for (const bool recorded : {true, false}) {
    const aclrtEvent event = new_event();
    consumer_of(1, [&] {
      OK(aclrtStreamWaitEvent(second, event));
      OK(aclrtLaunchHostFunc(second, [](void*) { second_at = ++order; }, nullptr));
    }).join();
    REFUSED(aclrtSynchronizeStreamWithTimeout(second, 20), 507046, "20 ms");
    consumer_of(0, [&] {
      OK(aclrtLaunchHostFunc(first, [](void*) { first_at = ++order; }, nullptr));
      if (recorded) OK(aclrtRecordEvent(event, first));
      OK(aclrtDestroyEvent(event));
    }).join();
    OK(aclrtSynchronizeStream(second));
    if (recorded) CHECK(first_at < second_at);
  }
  OK(aclrtDestroyStream(first));
  OK(aclrtDestroyStream(second));
}

SCENARIO(events_that_never_existed_are_refused_on_consumer_threads_too) {
  start();
  const aclrtStream stream = new_stream();
  const aclrtEvent event = new_event();
  consumer_of(0, [&] {
    // Its errors are left on the stream, where the next synchronization finds them.
    OK(aclrtStreamWaitEvent(stream, static_cast<char*>(event) + 16));
    REFUSED(aclrtSynchronizeStream(stream), 107000, "aclrtStreamWaitEvent", "not created by this runtime");
    OK(aclrtStreamWaitEvent(stream, nullptr));
    REFUSED(aclrtSynchronizeStream(stream), 107000, "aclrtStreamWaitEvent", "not created by this runtime");
  }).join();
  OK(aclrtDestroyEvent(event));
  OK(aclrtDestroyStream(stream));
}

SCENARIO(a_wait_for_an_event_that_was_destroyed_without_a_record_is_refused_on_consumer_threads_too) {
  start();
  const aclrtStream stream = new_stream();
  std::vector<aclrtEvent> events(7);
  for (aclrtEvent& event : events) event = new_event();
  const auto recorded = [](size_t i) { return i == 2 || i == 5; };
  consumer_of(0, [&] {
    for (const size_t i : {3u, 1u, 0u, 6u, 2u, 5u, 4u}) {  // neighbours are remembered together
      if (recorded(i)) OK(aclrtRecordEvent(events[i], stream));
      OK(aclrtDestroyEvent(events[i]));
    }
    OK(aclrtSynchronizeStream(stream));
    for (size_t i = 0; i < events.size(); ++i) {
      OK(aclrtStreamWaitEvent(stream, events[i]));
      if (recorded(i)) {
        OK(aclrtSynchronizeStream(stream));
      } else {
        REFUSED(aclrtSynchronizeStream(stream), 107000, "aclrtStreamWaitEvent", "nothing was ever recorded in it");
      }
    }
  }).join();
  OK(aclrtDestroyStream(stream));
}

SCENARIO(a_wait_for_an_event_ends_after_its_timeout) {
  start();
  const aclrtStream stream = new_stream();
  aclrtEvent event = nullptr;
  OK(aclrtCreateEvent(&event));
  aclrtEventStatus status = ACL_EVENT_STATUS_RESERVED;
  OK(aclrtQueryEvent(event, &status));
  CHECK_EQ(status, ACL_EVENT_STATUS_COMPLETE);  // nothing is recorded
  Gate gate;
  gate.close_on(stream);
  OK(aclrtRecordEvent(event, stream));
  OK(aclrtQueryEvent(event, &status));
  CHECK_EQ(status, ACL_EVENT_STATUS_NOT_READY);
  REFUSED(aclrtSynchronizeEventWithTimeout(event, 20), 507047, "20 ms");
  gate.open();
  OK(aclrtSynchronizeEventWithTimeout(event, -1));
  OK(aclrtQueryEvent(event, &status));
  CHECK_EQ(status, ACL_EVENT_STATUS_COMPLETE);
  REFUSED(aclrtCreateEvent(nullptr), 107000, "event");
  REFUSED(aclrtQueryEvent(nullptr, &status), 107000, "event");
  OK(aclrtDestroyEvent(event));
  OK(aclrtDestroyStream(stream));
}

SCENARIO(a_handle_never_comes_to_mean_another_event) {
  start();
  const aclrtEvent event = new_event();
  OK(aclrtDestroyEvent(event));
  for (int i = 0; i < 100; ++i) {
    const aclrtEvent other = new_event();
    CHECK(other != event);
    OK(aclrtDestroyEvent(other));
  }
}

SCENARIO(devices_exchange_events_from_two_consumer_threads) {
  start();
  const aclrtStream first = new_stream();
  OK(aclrtSetDevice(1));
  const aclrtStream second = new_stream();
  constexpr int kEvents = 500;
  static std::atomic<int> recorded{0};
  static std::atomic<int> early{0};
  std::vector<aclrtEvent> events(kEvents);
  for (aclrtEvent& event : events) event = new_event();
  std::thread recording = consumer_of(0, [&] {
    for (const aclrtEvent event : events) {
      OK(aclrtLaunchHostFunc(first, [](void*) { ++recorded; }, nullptr));
      OK(aclrtRecordEvent(event, first));
      OK(aclrtDestroyEvent(event));
    }
  });
  std::thread waiting = consumer_of(1, [&] {
    for (intptr_t i = 0; i < kEvents; ++i) {
      OK(aclrtStreamWaitEvent(second, events[static_cast<size_t>(i)]));
      OK(aclrtLaunchHostFunc(
          second, [](void* number) { early += recorded.load() <= reinterpret_cast<intptr_t>(number) ? 1 : 0; },
          reinterpret_cast<void*>(i)));
    }
  });
  recording.join();
  waiting.join();
  OK(aclrtSynchronizeStream(second));
  CHECK_EQ(early.load(), 0);
  OK(aclrtDestroyStream(first));
  OK(aclrtDestroyStream(second));
}

SCENARIO(elapsed_time_is_measured_on_the_stream) {
  start();
  const aclrtStream stream = new_stream();
  const aclrtEvent begin = new_event(ACL_EVENT_TIME_LINE | ACL_EVENT_SYNC);
  const aclrtEvent end = new_event(ACL_EVENT_TIME_LINE | ACL_EVENT_SYNC);
  float ms = -1;
  REFUSED(aclrtEventElapsedTime(&ms, begin, end), 107006, "not recorded");
  OK(aclrtRecordEvent(begin, stream));
  OK(aclrtLaunchHostFunc(stream, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }, nullptr));
  OK(aclrtRecordEvent(end, stream));
  OK(aclrtSynchronizeEvent(end));
  OK(aclrtEventElapsedTime(&ms, begin, end));
  CHECK(ms >= 30 && ms < 300000);
  REFUSED(aclrtEventElapsedTime(&ms, end, begin), 107007, "before the start event");
  OK(aclrtDestroyEvent(begin));
  OK(aclrtDestroyEvent(end));
  OK(aclrtDestroyStream(stream));
}

SCENARIO(a_blocking_callback_holds_the_stream_for_the_subscribed_thread) {
  start();
  const aclrtStream stream = new_stream();
  static std::atomic<bool> called{false};
  static std::atomic<bool> after{false};
  REFUSED(aclrtLaunchCallback([](void*) {}, nullptr, ACL_CALLBACK_BLOCK, stream), 100035, "aclrtSubscribeReport");
  const auto self = static_cast<uint64_t>(pthread_self());
  OK(aclrtSubscribeReport(self, stream));
  REFUSED(aclrtProcessReport(10), 507012, "10 ms");
  OK(aclrtLaunchCallback([](void*) { called = true; }, nullptr, ACL_CALLBACK_BLOCK, stream));
  OK(aclrtLaunchHostFunc(stream, [](void*) { after = called.load(); }, nullptr));
  OK(aclrtProcessReport(300000));
  OK(aclrtSynchronizeStream(stream));
  CHECK(after);
  OK(aclrtUnSubscribeReport(self, stream));
  OK(aclrtDestroyStream(stream));
}

SCENARIO(a_subscription_ends_with_its_stream) {
  start();
  const auto self = static_cast<uint64_t>(pthread_self());
  for (int round = 0; round < 20; ++round) {  // new streams get the addresses of destroyed ones
    const aclrtStream stream = new_stream();
    OK(aclrtSubscribeReport(self, stream));
    REFUSED(aclrtSubscribeReport(self, stream), 107000, "subscriber already");
    OK(aclrtDestroyStream(stream));
  }
}

SCENARIO(aborting_a_device_drops_what_waits_and_lets_the_running_task_finish) {
  start();
  const aclrtStream stream = new_stream();
  static std::atomic<int> ran{0};
  Gate gate;
  gate.close_on(stream);
  OK(aclrtLaunchHostFunc(stream, [](void*) { ++ran; }, nullptr));
  gate.wait_until_reached();
  REFUSED(aclrtDeviceTaskAbort(0, 20), 507046, "20 ms");
  gate.open();
  OK(aclrtDeviceTaskAbort(0, 300000));
  CHECK_EQ(ran.load(), 0);
  OK(aclrtDestroyStream(stream));
}

SCENARIO(a_stream_can_be_destroyed_while_tasks_wait) {
  start();
  for (int round = 0; round < 50; ++round) {
    const aclrtStream stream = new_stream();
    const aclrtStream other = new_stream();
    const aclrtEvent event = new_event();
    static std::atomic<int> count{0};
    for (int i = 0; i < 20; ++i) OK(aclrtLaunchHostFunc(stream, [](void*) { ++count; }, nullptr));
    OK(aclrtRecordEvent(event, stream));
    OK(aclrtStreamWaitEvent(other, event));
    OK(aclrtDestroyStreamForce(stream));
    OK(aclrtSynchronizeStream(other));  // the dropped record must not be waited for
    REFUSED(aclrtSynchronizeStream(stream), 107003, "does not exist");
    OK(aclrtDestroyStream(other));
    OK(aclrtDestroyEvent(event));
  }
}

SCENARIO(a_stream_can_be_destroyed_while_it_waits_for_a_first_record) {
  start();
  const aclrtStream waiting = new_stream();
  const aclrtEvent event = new_event();
  Gate gate;
  gate.close_on(waiting);
  std::thread([&] {
    pthread_setname_np(pthread_self(), "acl_thread");  // as torch_npu calls its consumer, whose record may be to come
    OK(aclrtSetDevice(0));
    OK(aclrtStreamWaitEvent(waiting, event));
  }).join();
  static std::atomic<bool> ran{false};
  OK(aclrtLaunchHostFunc(waiting, [](void*) { ran = true; }, nullptr));
  gate.wait_until_reached();
  gate.open();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // so that the wait has most likely begun
  OK(aclrtDestroyStreamForce(waiting));
  CHECK(!ran);
  OK(aclrtDestroyEvent(event));
}

SCENARIO(acl_ends_while_a_stream_waits_for_a_first_record) {
  start();
  const aclrtStream waiting = new_stream();
  const aclrtEvent event = new_event();
  std::thread([&] {
    pthread_setname_np(pthread_self(), "acl_thread");  // as above
    OK(aclrtSetDevice(0));
    OK(aclrtStreamWaitEvent(waiting, event));
  }).join();
  OK(aclFinalize());
}

SCENARIO(an_event_that_acl_has_outlived_can_still_be_waited_for) {
  start();
  const aclrtEvent event = new_event();
  OK(aclFinalize());
  start();
  const aclrtStream waiting = new_stream();
  const aclrtStream recording = new_stream();
  std::thread([&] {
    pthread_setname_np(pthread_self(), "acl_thread");  // as above
    OK(aclrtSetDevice(0));
    OK(aclrtStreamWaitEvent(waiting, event));
  }).join();
  static std::atomic<bool> recorded{false};
  static std::atomic<bool> ran_after{false};
  OK(aclrtLaunchHostFunc(waiting, [](void*) { ran_after = recorded.load(); }, nullptr));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // time to run too early
  recorded = true;
  OK(aclrtRecordEvent(event, recording));
  OK(aclrtSynchronizeStream(waiting));
  CHECK(ran_after);
  OK(aclrtDestroyEvent(event));
  OK(aclrtDestroyStream(waiting));
  OK(aclrtDestroyStream(recording));
}

SCENARIO(a_stream_can_be_destroyed_while_it_waits_for_a_stream_that_its_owner_holds) {
  start();
  const aclrtStream held = new_stream();
  const aclrtStream waiting = new_stream();
  const aclrtEvent event = new_event();
  Gate gate;
  gate.close_on(held);
  OK(aclrtRecordEvent(event, held));
  OK(aclrtStreamWaitEvent(waiting, event));
  static std::atomic<bool> ran{false};
  OK(aclrtLaunchHostFunc(waiting, [](void*) { ran = true; }, nullptr));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // as above
  OK(aclrtDestroyStreamForce(waiting));
  CHECK(!ran);
  gate.open();
  OK(aclrtDestroyStream(held));
  OK(aclrtDestroyEvent(event));
}

SCENARIO(a_wait_that_a_device_abort_ends_is_no_failure) {
  start();
  const aclrtStream waiting = new_stream();
  const aclrtEvent event = new_event(ACL_EVENT_EXTERNAL);
  OK(aclrtStreamWaitEvent(waiting, event));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // as above
  OK(aclrtDeviceTaskAbort(0, 300000));
  static std::atomic<bool> ran{false};
  OK(aclrtLaunchHostFunc(waiting, [](void*) { ran = true; }, nullptr));
  OK(aclrtSynchronizeStream(waiting));
  CHECK(ran);
  OK(aclrtDestroyStream(waiting));
  OK(aclrtDestroyEvent(event));
}

SCENARIO(a_stream_can_be_destroyed_while_it_waits_for_an_external_event) {
  start();
  const aclrtStream waiting = new_stream();
  const aclrtEvent event = new_event(ACL_EVENT_EXTERNAL);
  OK(aclrtStreamWaitEvent(waiting, event));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // as above
  OK(aclrtDestroyStreamForce(waiting));
  OK(aclrtDestroyEvent(event));
}

SCENARIO(a_stream_can_be_destroyed_while_it_waits_for_a_value) {
  start();
  void* value = nullptr;
  OK(aclrtMalloc(&value, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMemset(value, 64, 0, 64));
  const aclrtStream waiting = new_stream();
  OK(aclrtValueWait(value, 1, ACL_STREAM_WAIT_VALUE_EQ, waiting));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // as above
  OK(aclrtDestroyStreamForce(waiting));
  OK(aclrtFree(value));
}

SCENARIO(eight_threads_share_streams) {
  start();
  aclrtStream streams[2] = {new_stream(), new_stream()};
  static std::atomic<int> count{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      OK(aclrtSetDevice(0));
      const aclrtEvent event = new_event();
      for (int i = 0; i < 300; ++i) {
        const aclrtStream mine = streams[(t + i) % 2];
        OK(aclrtLaunchHostFunc(mine, [](void*) { ++count; }, nullptr));
        OK(aclrtRecordEvent(event, mine));
        OK(aclrtStreamWaitEvent(streams[(t + i + 1) % 2], event));
        if (i % 50 == 0) OK(aclrtSynchronizeEvent(event));
      }
      OK(aclrtDestroyEvent(event));
    });
  }
  for (std::thread& thread : threads) thread.join();
  OK(aclrtSynchronizeDevice());
  CHECK_EQ(count.load(), 2400);
  for (aclrtStream stream : streams) OK(aclrtDestroyStream(stream));
}

SCENARIO(a_notify_lets_one_wait_end_for_each_record) {
  start();
  const aclrtStream recorder = new_stream(), waiter = new_stream();
  aclrtNotify notify = nullptr;
  OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
  std::atomic<int> passed{0};
  const auto count = [](void* counter) { ++*static_cast<std::atomic<int>*>(counter); };
  for (int i = 0; i < 2; ++i) {
    OK(aclrtWaitAndResetNotify(notify, waiter, 0));
    OK(aclrtLaunchHostFunc(waiter, count, &passed));
  }
  for (int i = 1; i <= 2; ++i) {
    OK(aclrtRecordNotify(notify, recorder));
    OK(aclrtSynchronizeStream(recorder));
    while (passed.load() < i) std::this_thread::yield();
    if (i == 2) break;
    REFUSED(aclrtSynchronizeStreamWithTimeout(waiter, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "20");
    CHECK_EQ(passed.load(), i);  // the second wait has found the notify reset
  }
  OK(aclrtSynchronizeStream(waiter));

  OK(aclrtRecordNotify(notify, recorder));
  OK(aclrtWaitAndResetNotify(notify, waiter, 10));
  OK(aclrtDestroyNotify(notify));  // what is queued keeps it
  OK(aclrtSynchronizeStream(waiter));
  REFUSED(aclrtRecordNotify(notify, recorder), 107000, "notify");
  REFUSED(aclrtDestroyNotify(nullptr), 107000, "'notify' is null");
  REFUSED(aclrtCreateNotify(nullptr, 0), 107000, "'notify' is null");
  REFUSED(aclrtCreateNotify(&notify, 2), 107000, "'flag' is 2");
  OK(aclrtDestroyStream(recorder));
  OK(aclrtDestroyStream(waiter));
}

SCENARIO(a_stream_says_how_it_was_made) {
  start();
  int32_t least = 0, greatest = -1;
  OK(aclrtDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(least > greatest && greatest == 0);
  aclrtStream stream = nullptr, own = nullptr;
  OK(aclrtCreateStreamWithConfig(&stream, static_cast<uint32_t>(least), ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
  uint32_t flags = 0, priority = 0;
  OK(aclrtStreamGetFlags(stream, &flags));
  CHECK_EQ(flags, uint32_t{3});
  OK(aclrtStreamGetPriority(stream, &priority));
  CHECK_EQ(priority, static_cast<uint32_t>(least));
  OK(aclrtCtxGetCurrentDefaultStream(&own));
  OK(aclrtStreamGetFlags(own, &flags));
  CHECK_EQ(flags, uint32_t{0});
  Gate gate;
  gate.close_on(nullptr);
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  OK(aclrtStreamQuery(own, &status));
  CHECK_EQ(status, ACL_STREAM_STATUS_NOT_READY);
  gate.open();
  OK(aclrtSynchronizeStream(own));
  REFUSED(aclrtStreamGetFlags(stream, nullptr), 107000, "flags");
  OK(aclrtDestroyStream(stream));
}

SCENARIO(versions_and_devices_can_be_asked_for) {
  start();
  char cann[] = "cann", driver[] = "driver", version[ACL_PKG_VERSION_MAX_SIZE] = "";
  int32_t number = 0, older = 0, value = -1;
  OK(aclsysGetVersionNum(cann, &number));
  OK(aclsysGetVersionNum(driver, &older));
  OK(aclsysGetVersionStr(cann, version));
  CHECK_EQ(std::string(version) + " " + std::to_string(number), "9.1.0 90100000");
  CHECK_EQ(older, 250500000);
  aclrtDeviceStatus status = ACL_RT_DEVICE_STATUS_END;
  OK(aclrtQueryDeviceStatus(1, &status));
  CHECK_EQ(status, ACL_RT_DEVICE_STATUS_NORMAL);
  OK(aclrtGetDeviceCapability(0, ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV, &value));
  CHECK_EQ(value, ACL_DEV_FEATURE_NOT_SUPPORT);
  OK(aclrtCheckArchCompatibility(aclrtGetSocName(), &value));
  CHECK_EQ(value, 1);
  OK(aclrtCheckArchCompatibility("Ascend310P3", &value));
  CHECK_EQ(value, 0);
  REFUSED(aclrtCheckArchCompatibility("Ascend1", &value), 107000, "'Ascend1'", "Ascend910B4");
  REFUSED(aclrtGetDeviceCapability(0, static_cast<aclrtDevFeatureType>(2), &value), 107000, "feature 2");
  REFUSED(aclrtQueryDeviceStatus(9, &status), 107001, "9");
  REFUSED(aclsysGetVersionNum(nullptr, &number), 100000, "pkgName");
}

SCENARIO(errors_name_the_call_and_the_cause) {
  start();
  int32_t device = -1;
  REFUSED(aclrtSetDevice(99), 107001, "aclrtSetDevice", "99", "OPWRIGHT_DEVICES");
  CHECK_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), 107001);
  CHECK_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), 107001);
  CHECK_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), 0);
  std::thread([&] { REFUSED(aclrtGetDevice(&device), 107002, "aclrtSetDevice"); }).join();
  REFUSED(aclrtSynchronizeStream(reinterpret_cast<aclrtStream>(0x1234)), 107003, "0x1234");
  REFUSED(aclrtGetDevice(nullptr), 107000, "deviceId");
  REFUSED(aclInit(nullptr), 100002, "initialised already");
}

SCENARIO(threads_made_after_the_start_poll_less_often) {
  start();
  std::thread([] { CHECK_EQ(prctl(PR_GET_TIMERSLACK), 500'000); }).join();
}
