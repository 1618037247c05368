// tests/native/capture_refusal_test.cpp
// Captured graphs: what is refused while a stream is captured, and how a capture ends early.
#include <thread>
#include <vector>

#include "capture.h"

namespace {

using namespace opwright::test;

SCENARIO(an_unjoined_stream_fails_the_capture) {
  start();
  const aclrtStream stream = new_stream();
  const aclrtStream side = new_stream();
  const aclrtEvent fork = new_event();
  const Block block;
  begin(stream);
  OK(aclrtRecordEvent(fork, stream));
  OK(aclrtStreamWaitEvent(side, fork));
  block.fill(1, side);
  aclmdlRI graph = nullptr;
  REFUSED(aclmdlRICaptureEnd(stream, &graph), ACL_ERROR_RT_STREAM_UNJOINED, "aclrtMemsetAsync", "not joined");
  CHECK(graph == nullptr);
  check_usable(stream);
  check_usable(side);
}

SCENARIO(events_from_outside_and_inside_do_not_mix) {
  start();
  const aclrtStream stream = new_stream();
  const aclrtStream side = new_stream();
  const aclrtEvent outside = new_event();
  const aclrtEvent inside = new_event();
  begin(stream);
  OK(aclrtStreamWaitEvent(stream, outside));  // never recorded
  OK(aclrtRecordEvent(outside, side));
  REFUSED(aclrtStreamWaitEvent(stream, outside), ACL_ERROR_RT_CAPTURE_DEPENDENCY, "not recorded in the capture");
  OK(aclrtRecordEvent(inside, stream));
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  REFUSED(aclrtQueryEventStatus(inside, &status), ACL_ERROR_RT_EVENT_CAPTURED, "inside of a capture");
  OK(aclmdlRIDestroy(end(stream)));
  REFUSED(aclrtSynchronizeEvent(inside), ACL_ERROR_RT_EVENT_CAPTURED, "inside of a capture");
  REFUSED(aclrtStreamWaitEvent(side, inside), ACL_ERROR_RT_EVENT_CAPTURED, "capture that is over");
  OK(aclrtRecordEvent(inside, stream));
  OK(aclrtSynchronizeEvent(inside));
  check_usable(stream);
}

SCENARIO(waiting_inside_of_a_capture_is_refused) {
  start();
  const aclrtStream stream = new_stream();
  const Block block;
  block.set(0);
  begin(stream);
  REFUSED(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_CAPTURED, "being captured", ".item()");
  REFUSED(aclrtSynchronizeDevice(), ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, "cannot wait for the device");
  CHECK_EQ(status_of(stream), ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);  // the refused call is the only loss
  block.fill(1, stream);
  replay(end(stream), stream);
  CHECK_EQ(block.read(), 1);
  check_usable(stream);
}

// Answers what aclrtMemset answers on a thread of its own in the given mode of that thread.
int fill_on_other_thread(const Block& block, aclmdlRICaptureMode mode) {
  int answer = 0;
  std::thread([&] {
    OK(aclrtSetDevice(0));
    OK(aclmdlRICaptureThreadExchangeMode(&mode));
    answer = aclrtMemset(block.get(), block.size(), 1, block.size());
  }).join();
  return answer;
}

SCENARIO(modes_say_who_may_call_what) {
  start();
  const aclrtStream stream = new_stream();
  const Block block;
  const auto outcome = [&](aclmdlRICaptureMode mode, const auto& body) {
    begin(stream, mode);
    const int answer = body();
    OK(aclmdlRIDestroy(end(stream)));
    return answer;
  };
  constexpr aclmdlRICaptureMode kGlobal = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
  constexpr aclmdlRICaptureMode kLocal = ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL;
  constexpr aclmdlRICaptureMode kRelaxed = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
  constexpr int kRefused = ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT;
  const auto here = [&] { return aclrtMemset(block.get(), block.size(), 1, block.size()); };
  CHECK_EQ(outcome(kGlobal, here), kRefused);
  CHECK_EQ(outcome(kLocal, here), kRefused);
  CHECK_EQ(outcome(kRelaxed, here), ACL_SUCCESS);
  const auto elsewhere = [&](aclmdlRICaptureMode mode) {
    return [&, mode] { return fill_on_other_thread(block, mode); };
  };
  CHECK_EQ(outcome(kGlobal, elsewhere(kGlobal)), kRefused);
  CHECK_EQ(outcome(kGlobal, elsewhere(kLocal)), ACL_SUCCESS);
  CHECK_EQ(outcome(kGlobal, elsewhere(kRelaxed)), ACL_SUCCESS);
  CHECK_EQ(outcome(kLocal, elsewhere(kGlobal)), ACL_SUCCESS);
  CHECK_EQ(outcome(kRelaxed, elsewhere(kGlobal)), ACL_SUCCESS);
  aclmdlRICaptureMode mode = kRelaxed;
  OK(aclmdlRICaptureThreadExchangeMode(&mode));
  CHECK_EQ(mode, kGlobal);
  CHECK_EQ(outcome(kGlobal, here), ACL_SUCCESS);
  mode = static_cast<aclmdlRICaptureMode>(3);
  REFUSED(aclmdlRICaptureThreadExchangeMode(&mode), ACL_ERROR_RT_PARAM_INVALID, "3", "does not exist");
}

SCENARIO(a_capture_forbids_nothing_on_another_device) {
  start();
  const aclrtStream stream = new_stream();
  begin(stream);
  REFUSED(aclrtSynchronizeDevice(), ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, "cannot wait for the device");
  OK(aclrtSetDevice(1));
  OK(aclrtSynchronizeDevice());
  const Block block;
  block.set(1);
  CHECK_EQ(block.read(), 1);
  OK(aclrtSetDevice(0));
  end(stream);
}

SCENARIO(pageable_memory_is_not_copied_in_a_capture) {
  start();
  const aclrtStream stream = new_stream();
  const Block block;
  std::vector<char> pageable(block.size(), 7);
  for (const auto mode : {ACL_MODEL_RI_CAPTURE_MODE_GLOBAL, ACL_MODEL_RI_CAPTURE_MODE_RELAXED}) {
    begin(stream, mode);
    REFUSED(
        aclrtMemcpyAsync(block.get(), block.size(), pageable.data(), block.size(), ACL_MEMCPY_HOST_TO_DEVICE, stream),
        ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC, "pinned");
    OK(aclmdlRIDestroy(end(stream)));
  }
  void* pinned = nullptr;
  OK(aclrtMallocHost(&pinned, block.size()));
  begin(stream);
  OK(aclrtMemcpyAsync(block.get(), block.size(), pinned, block.size(), ACL_MEMCPY_HOST_TO_DEVICE, stream));
  const aclmdlRI graph = end(stream);
  for (const int value : {1, 2}) {
    std::memset(pinned, value, block.size());
    replay(graph, stream);
    CHECK_EQ(block.read(), value);
  }
}

SCENARIO(captures_begin_and_end_where_they_should) {
  start();
  const aclrtStream stream = new_stream();
  const aclrtStream other = new_stream();
  aclmdlRI graph = nullptr;
  REFUSED(aclmdlRICaptureBegin(nullptr, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT,
          "default stream");
  REFUSED(aclmdlRICaptureBegin(stream, static_cast<aclmdlRICaptureMode>(3)), ACL_ERROR_RT_PARAM_INVALID, "3");
  REFUSED(aclmdlRICaptureEnd(stream, &graph), ACL_ERROR_RT_STREAM_NOT_CAPTURED, "not being captured");
  begin(stream);
  REFUSED(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_ERROR_RT_STREAM_CAPTURED, "already");
  REFUSED(aclrtDestroyStream(stream), ACL_ERROR_RT_STREAM_CAPTURED, "being captured");
  graph = graph_of(stream);
  REFUSED(aclmdlRIDestroy(graph), ACL_ERROR_RT_MODEL_CAPTURED, "still being captured");
  REFUSED(aclmdlRIExecuteAsync(graph, other), ACL_ERROR_RT_MODEL_CAPTURED, "still being captured");
  const aclrtEvent fork = new_event();
  OK(aclrtRecordEvent(fork, stream));
  OK(aclrtStreamWaitEvent(other, fork));
  aclmdlRI none = nullptr;
  REFUSED(aclmdlRICaptureEnd(other, &none), ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED, "began on stream");
  OK(aclmdlRIDestroy(end(stream)));
  begin(stream);
  std::thread([&] {
    OK(aclrtSetDevice(0));
    REFUSED(aclmdlRICaptureEnd(stream, &none), ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD, "thread");
  }).join();
  check_usable(stream);  // as in CANN, that ended it
  begin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED);
  std::thread([&] {
    OK(aclrtSetDevice(0));
    OK(aclmdlRIDestroy(end(stream)));
  }).join();
}

SCENARIO(a_reset_device_ends_its_captures) {
  start();
  const aclrtStream stream = new_stream();
  begin(stream);
  OK(aclrtResetDevice(0));
  OK(aclrtSetDevice(0));
  check_usable(new_stream());
}

}  // namespace
