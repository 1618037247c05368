// tests/native/capture_test.cpp
// Captured graphs: recording, replay, forks, external events, updates, conditions, and what is refused meanwhile.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "acl/acl_mdl.h"
#include "scenario.h"

namespace {

void start() {
  OK(aclInit(nullptr));
  OK(aclrtSetDevice(0));
}

aclrtStream new_stream() {
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  return stream;
}

aclrtEvent new_event(uint32_t flags = ACL_EVENT_SYNC) {
  aclrtEvent event = nullptr;
  OK(aclrtCreateEventExWithFlag(&event, flags));
  return event;
}

// Bytes of device memory, to be filled by captured tasks and read back by the test.
class Block {
 public:
  explicit Block(size_t size = 64) : size_(size) { OK(aclrtMalloc(&address_, size, ACL_MEM_MALLOC_HUGE_FIRST)); }
  void* get() const { return address_; }
  size_t size() const { return size_; }
  void fill(int value, aclrtStream stream) const { OK(aclrtMemsetAsync(address_, size_, value, size_, stream)); }
  void copy_from(const Block& other, aclrtStream stream) const {
    OK(aclrtMemcpyAsync(address_, size_, other.get(), size_, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  }
  void set(int value) const { OK(aclrtMemset(address_, size_, value, size_)); }
  int read() const {
    std::vector<unsigned char> bytes(size_);
    OK(aclrtMemcpy(bytes.data(), size_, address_, size_, ACL_MEMCPY_DEVICE_TO_HOST));
    for (const unsigned char byte : bytes) CHECK_EQ(byte, bytes.front());
    return bytes.front();
  }
  void release() {
    OK(aclrtFree(address_));
    address_ = nullptr;
  }

 private:
  void* address_ = nullptr;
  size_t size_;
};

// Holds a stream until it is opened.
class Gate {
 public:
  void close_on(aclrtStream stream) { OK(aclrtLaunchHostFunc(stream, &Gate::pass, this)); }
  void open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  static void pass(void* self) {
    Gate& gate = *static_cast<Gate*>(self);
    std::unique_lock<std::mutex> lock(gate.mutex_);
    gate.changed_.wait(lock, [&] { return gate.open_; });
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

void begin(aclrtStream stream, aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) {
  OK(aclmdlRICaptureBegin(stream, mode));
}

aclmdlRI end(aclrtStream stream) {
  aclmdlRI graph = nullptr;
  OK(aclmdlRICaptureEnd(stream, &graph));
  CHECK(graph != nullptr);
  return graph;
}

void replay(aclmdlRI graph, aclrtStream stream) {
  OK(aclmdlRIExecuteAsync(graph, stream));
  OK(aclrtSynchronizeStream(stream));
}

aclmdlRICaptureStatus status_of(aclrtStream stream) {
  aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED;
  aclmdlRI graph = nullptr;
  OK(aclmdlRICaptureGetInfo(stream, &status, &graph));
  return status;
}

// After a refusal: the stream runs what it gets, and can be captured again.
void check_usable(aclrtStream stream) {
  CHECK_EQ(status_of(stream), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  const Block block;
  block.fill(5, stream);
  OK(aclrtSynchronizeStream(stream));
  CHECK_EQ(block.read(), 5);
  begin(stream);
  block.fill(6, stream);
  const aclmdlRI graph = end(stream);
  CHECK_EQ(block.read(), 5);
  replay(graph, stream);
  CHECK_EQ(block.read(), 6);
  OK(aclmdlRIDestroy(graph));
}

SCENARIO(a_capture_records_and_replays_run) {
  start();
  const aclrtStream stream = new_stream();
  const Block source;
  const Block target;
  source.set(1);
  target.set(0);
  begin(stream);
  CHECK_EQ(status_of(stream), ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  target.copy_from(source, stream);
  const aclmdlRI graph = end(stream);
  CHECK_EQ(status_of(stream), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  CHECK_EQ(target.read(), 0);
  replay(graph, stream);
  CHECK_EQ(target.read(), 1);
  source.set(2);  // replays use the addresses, not the values, of the capture
  replay(graph, stream);
  CHECK_EQ(target.read(), 2);
  const aclrtStream other = new_stream();
  source.set(3);
  replay(graph, other);
  CHECK_EQ(target.read(), 3);
  OK(aclmdlRIDestroy(graph));
  REFUSED(aclmdlRIExecuteAsync(graph, stream), ACL_ERROR_RT_PARAM_INVALID, "captured graph", "does not exist");
}

SCENARIO(replays_are_asynchronous_and_in_stream_order) {
  start();
  const aclrtStream stream = new_stream();
  const Block block;
  block.set(0);
  Gate gate;
  begin(stream);
  gate.close_on(stream);
  block.fill(1, stream);
  const aclmdlRI graph = end(stream);
  OK(aclmdlRIExecuteAsync(graph, stream));
  block.fill(2, stream);
  aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
  OK(aclrtStreamQuery(stream, &status));
  CHECK_EQ(status, ACL_STREAM_STATUS_NOT_READY);
  gate.open();
  OK(aclrtSynchronizeStream(stream));
  CHECK_EQ(block.read(), 2);
}

SCENARIO(ids_are_distinct) {
  start();
  const aclrtStream stream = new_stream();
  uint32_t ids[2] = {};
  for (uint32_t& id : ids) {
    begin(stream);
    OK(aclmdlRIGetId(end(stream), &id));
  }
  CHECK(ids[0] != ids[1]);
  CHECK(ids[0] != 0);
}

SCENARIO(streams_fork_and_join_by_events) {
  start();
  const aclrtStream stream = new_stream();
  const aclrtStream side = new_stream();
  const aclrtEvent fork = new_event();
  const aclrtEvent join = new_event();
  const Block first;
  const Block second;
  const Block third;
  begin(stream);
  first.fill(1, stream);
  OK(aclrtRecordEvent(fork, stream));
  OK(aclrtStreamWaitEvent(side, fork));
  CHECK_EQ(status_of(side), ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  second.copy_from(first, side);
  OK(aclrtRecordEvent(join, side));
  OK(aclrtStreamWaitEvent(stream, join));
  third.copy_from(second, stream);
  const aclmdlRI graph = end(stream);
  CHECK_EQ(status_of(side), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  OK(aclrtDestroyEvent(fork));
  OK(aclrtDestroyEvent(join));
  OK(aclrtDestroyStream(side));
  for (int round = 0; round < 200; ++round) {
    second.set(0);
    third.set(0);
    replay(graph, stream);
    CHECK_EQ(third.read(), 1);
  }
}

SCENARIO(lanes_run_at_the_same_time) {
  start();
  const aclrtStream stream = new_stream();
  const aclrtStream side = new_stream();
  const aclrtEvent fork = new_event();
  const aclrtEvent join = new_event();
  Gate gate;
  begin(stream);
  OK(aclrtRecordEvent(fork, stream));
  OK(aclrtStreamWaitEvent(side, fork));
  gate.close_on(stream);
  OK(aclrtLaunchHostFunc(side, [](void* self) { static_cast<Gate*>(self)->open(); }, &gate));
  OK(aclrtRecordEvent(join, side));
  OK(aclrtStreamWaitEvent(stream, join));
  replay(end(stream), stream);  // the side lane releases the first one
}

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
  aclmdlRICaptureStatus status;
  OK(aclmdlRICaptureGetInfo(stream, &status, &graph));
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

SCENARIO(two_captures_at_once_stay_apart) {
  start();
  const aclrtStream first = new_stream();
  const aclrtStream second = new_stream();
  const aclrtEvent event = new_event();
  const Block a;
  const Block b;
  begin(first);
  begin(second);
  a.fill(1, first);
  b.fill(2, second);
  OK(aclrtRecordEvent(event, first));
  REFUSED(aclrtStreamWaitEvent(second, event), ACL_ERROR_STREAM_CAPTURE_CONFLICT, "another one");
  const aclmdlRI graph = end(second);
  aclmdlRI none = nullptr;
  REFUSED(aclmdlRICaptureEnd(first, &none), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, "another one");
  replay(graph, first);
  CHECK_EQ(b.read(), 2);
}

SCENARIO(a_graph_can_be_destroyed_while_it_runs) {
  start();
  const aclrtStream stream = new_stream();
  const Block block;
  block.set(0);
  Gate gate;
  begin(stream);
  gate.close_on(stream);
  block.fill(4, stream);
  const aclmdlRI graph = end(stream);
  OK(aclmdlRIExecuteAsync(graph, stream));
  OK(aclmdlRIDestroy(graph));
  gate.open();
  OK(aclrtSynchronizeStream(stream));
  CHECK_EQ(block.read(), 4);
}

SCENARIO(freed_memory_is_not_replayed) {
  start();
  const aclrtStream stream = new_stream();
  Block block;
  begin(stream);
  block.fill(1, stream);
  const aclmdlRI graph = end(stream);
  replay(graph, stream);
  const void* const before = block.get();
  block.release();
  OK(aclmdlRIExecuteAsync(graph, stream));
  REFUSED(aclrtSynchronizeStream(stream), ACL_ERROR_RT_PARAM_INVALID, "aclrtMemsetAsync", "devPtr", "was freed");
  const Block again;  // other memory at the same address
  CHECK_EQ(const_cast<const void*>(again.get()), before);
  again.set(9);
  OK(aclmdlRIExecuteAsync(graph, stream));
  REFUSED(aclrtSynchronizeStream(stream), ACL_ERROR_RT_PARAM_INVALID, "was freed");
  CHECK_EQ(again.read(), 9);
}

SCENARIO(a_graph_never_runs_twice_at_once) {
  start();
  struct Guard {
    std::atomic<int> inside{0};
    std::atomic<int> runs{0};
  } guard;
  const aclrtStream stream = new_stream();
  begin(stream);
  OK(aclrtLaunchHostFunc(
      stream,
      [](void* self) {
        Guard& state = *static_cast<Guard*>(self);
        CHECK_EQ(state.inside.fetch_add(1), 0);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        state.inside.fetch_sub(1);
        state.runs.fetch_add(1);
      },
      &guard));
  const aclmdlRI graph = end(stream);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      OK(aclrtSetDevice(0));
      const aclrtStream own = new_stream();
      for (int round = 0; round < 25; ++round) OK(aclmdlRIExecuteAsync(graph, own));
      OK(aclrtSynchronizeStream(own));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(guard.runs.load(), 100);
}

SCENARIO(a_graph_can_be_part_of_another) {
  start();
  const aclrtStream stream = new_stream();
  const Block source;
  const Block target;
  begin(stream);
  target.copy_from(source, stream);
  const aclmdlRI inner = end(stream);
  begin(stream);
  source.fill(3, stream);
  OK(aclmdlRIExecuteAsync(inner, stream));
  const aclmdlRI outer = end(stream);
  OK(aclmdlRIDestroy(inner));
  target.set(0);
  replay(outer, stream);
  CHECK_EQ(target.read(), 3);
}

// A graph that waits for an external event, clears it, and then runs a group with one fill.
struct Updatable {
  aclmdlRI graph;
  aclrtTaskGrp group;
  aclrtEvent event;
};

Updatable capture_updatable(const Block& block, aclrtStream stream) {
  Updatable result{};
  result.event = new_event(ACL_EVENT_EXTERNAL);
  begin(stream);
  OK(aclrtStreamWaitEvent(stream, result.event));
  OK(aclrtResetEvent(result.event, stream));
  OK(aclmdlRICaptureTaskGrpBegin(stream));
  block.fill(1, stream);
  OK(aclmdlRICaptureTaskGrpEnd(stream, &result.group));
  result.graph = end(stream);
  return result;
}

SCENARIO(an_update_reaches_a_replay_that_waits_for_it) {
  start();
  const aclrtStream stream = new_stream();
  const aclrtStream update = new_stream();
  const Block block;
  const Updatable captured = capture_updatable(block, stream);
  for (int value = 2; value < 20; ++value) {
    OK(aclmdlRIExecuteAsync(captured.graph, stream));  // first, as torch_npu's update-and-replay does
    OK(aclmdlRICaptureTaskUpdateBegin(update, captured.group));
    block.fill(value, update);
    OK(aclmdlRICaptureTaskUpdateEnd(update));
    OK(aclrtRecordEvent(captured.event, update));
    OK(aclrtSynchronizeStream(stream));
    CHECK_EQ(block.read(), value);
  }
}

SCENARIO(updates_have_to_fit_their_group) {
  start();
  const aclrtStream stream = new_stream();
  const aclrtStream update = new_stream();
  const Block block;
  const Block source;
  source.set(8);
  const Updatable captured = capture_updatable(block, stream);
  REFUSED(aclmdlRICaptureTaskUpdateEnd(update), ACL_ERROR_STREAM_TASK_GROUP_STATUS, "updates no task group");
  OK(aclmdlRICaptureTaskUpdateBegin(update, captured.group));
  REFUSED(aclmdlRICaptureTaskUpdateBegin(stream, captured.group), ACL_ERROR_STREAM_TASK_GROUP_STATUS, "already");
  block.copy_from(source, update);
  REFUSED(aclmdlRICaptureTaskUpdateEnd(update), ACL_ERROR_STREAM_TASK_GROUP_STATUS, "aclrtMemcpyAsync",
          "aclrtMemsetAsync");
  OK(aclmdlRICaptureTaskUpdateBegin(update, captured.group));
  REFUSED(aclmdlRICaptureTaskUpdateEnd(update), ACL_ERROR_STREAM_TASK_GROUP_STATUS, "nothing");
  OK(aclrtRecordEvent(captured.event, update));
  replay(captured.graph, stream);
  CHECK_EQ(block.read(), 1);  // as recorded
  OK(aclmdlRICaptureTaskUpdateBegin(update, captured.group));
  block.fill(2, update);  // the operator raised: its caller never ends this update
  OK(aclmdlRICaptureTaskUpdateBegin(update, captured.group));
  block.fill(3, update);
  OK(aclmdlRICaptureTaskUpdateEnd(update));
  OK(aclrtRecordEvent(captured.event, update));
  replay(captured.graph, stream);
  CHECK_EQ(block.read(), 3);
  begin(stream);
  OK(aclmdlRICaptureTaskGrpBegin(stream));
  REFUSED(aclmdlRICaptureTaskGrpBegin(stream), ACL_ERROR_STREAM_TASK_GROUP_STATUS, "open task group");
  aclmdlRI none = nullptr;
  REFUSED(aclmdlRICaptureEnd(stream, &none), ACL_ERROR_STREAM_TASK_GROUP_INTR, "open task group");
  check_usable(stream);
  OK(aclmdlRIDestroy(captured.graph));
  REFUSED(aclmdlRICaptureTaskUpdateBegin(update, captured.group), ACL_ERROR_STREAM_TASK_GROUP_STATUS, "does not exist");
}

// Bodies are captured on a stream of their own.
void capture_body(aclmdlRI body, const Block& target, const Block& source) {
  const aclrtStream stream = new_stream();
  OK(aclmdlRICaptureToModelRIBegin(stream, body, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  target.copy_from(source, stream);
  CHECK_EQ(end(stream), body);
}

void set_condition(uint64_t* condition, const Block& value, aclrtStream stream) {
  OK(aclrtMemcpyAsync(condition, 8, value.get(), 8, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
}

SCENARIO(a_value_in_device_memory_chooses_the_body) {
  start();
  const aclrtStream stream = new_stream();
  const Block choice;
  const Block one;
  const Block two;
  const Block target;
  one.set(1);
  two.set(2);
  begin(stream);
  aclmdlRICaptureStatus status;
  aclmdlRI parent = nullptr;
  OK(aclmdlRICaptureGetInfo(stream, &status, &parent));
  aclmdlRICondHandle handle = nullptr;
  OK(aclmdlRICondHandleCreate(parent, 0, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &handle));
  uint64_t* condition = nullptr;
  OK(aclmdlRICondHandleGetCondPtr(handle, &condition));
  set_condition(condition, choice, stream);
  aclmdlRI bodies[2] = {};
  OK(aclmdlRIAddCondTask({handle, ACL_MODEL_RI_COND_TYPE_IF, 2, bodies}, stream, 0));
  capture_body(bodies[0], target, one);
  capture_body(bodies[1], target, two);
  const aclmdlRI graph = end(stream);
  for (const int value : {1, 0, 1}) {
    choice.set(value);
    replay(graph, stream);
    CHECK_EQ(target.read(), value == 1 ? 1 : 2);
  }
  OK(aclmdlRIDestroy(graph));
  REFUSED(aclmdlRICondHandleGetCondPtr(handle, &condition), ACL_ERROR_RT_PARAM_INVALID, "condition", "does not exist");
}

SCENARIO(a_while_body_runs_until_its_condition_is_zero) {
  start();
  const aclrtStream stream = new_stream();
  struct State {
    uint64_t* condition = nullptr;
    int left = 0;
    int runs = 0;
    Block* next = nullptr;
  } state;
  Block next;
  state.next = &next;
  begin(stream);
  aclmdlRICaptureStatus status;
  aclmdlRI parent = nullptr;
  OK(aclmdlRICaptureGetInfo(stream, &status, &parent));
  aclmdlRICondHandle handle = nullptr;
  OK(aclmdlRICondHandleCreate(parent, 1, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &handle));
  OK(aclmdlRICondHandleGetCondPtr(handle, &state.condition));
  aclmdlRI body = nullptr;
  OK(aclmdlRIAddCondTask({handle, ACL_MODEL_RI_COND_TYPE_WHILE, 1, &body}, stream, 0));
  aclmdlRI none = nullptr;
  const aclrtStream inside = new_stream();
  OK(aclmdlRICaptureToModelRIBegin(inside, body, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  REFUSED(aclmdlRICaptureToModelRIBegin(new_stream(), body, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL),
          ACL_ERROR_RT_MODEL_CAPTURED, "being captured already");
  OK(aclrtLaunchHostFunc(
      inside,
      [](void* self) {
        State& current = *static_cast<State*>(self);
        ++current.runs;
        current.next->set(--current.left > 0 ? 1 : 0);
      },
      &state));
  set_condition(state.condition, next, inside);
  CHECK_EQ(end(inside), body);
  const aclmdlRI graph = end(stream);
  for (const int rounds : {3, 1, 7}) {
    state.left = rounds;
    state.runs = 0;
    replay(graph, stream);  // starts with the default, 1
    CHECK_EQ(state.runs, rounds);
  }
  REFUSED(aclmdlRICaptureEnd(stream, &none), ACL_ERROR_RT_STREAM_NOT_CAPTURED, "not being captured");
}

SCENARIO(conditions_are_checked) {
  start();
  const aclrtStream stream = new_stream();
  begin(stream);
  aclmdlRICaptureStatus status;
  aclmdlRI parent = nullptr;
  OK(aclmdlRICaptureGetInfo(stream, &status, &parent));
  aclmdlRICondHandle handle = nullptr;
  OK(aclmdlRICondHandleCreate(parent, 0, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &handle));
  aclmdlRI bodies[3] = {};
  REFUSED(aclmdlRIAddCondTask({handle, ACL_MODEL_RI_COND_TYPE_IF, 3, bodies}, stream, 0), ACL_ERROR_RT_PARAM_INVALID,
          "1 or 2 bodies");
  REFUSED(aclmdlRIAddCondTask({handle, ACL_MODEL_RI_COND_TYPE_WHILE, 2, bodies}, stream, 0), ACL_ERROR_RT_PARAM_INVALID,
          "1 body");
  REFUSED(aclmdlRIAddCondTask({handle, ACL_MODEL_RI_COND_TYPE_IF, 1, nullptr}, stream, 0), ACL_ERROR_RT_PARAM_INVALID,
          "modelRIArray");
  OK(aclmdlRIAddCondTask({handle, ACL_MODEL_RI_COND_TYPE_SWITCH, 3, bodies}, stream, 0));
  const aclrtStream inside = new_stream();
  OK(aclmdlRICaptureToModelRIBegin(inside, bodies[0], ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  aclmdlRI none = nullptr;
  REFUSED(aclmdlRICaptureEnd(stream, &none), ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING, "conditional");
  check_usable(stream);
}

SCENARIO(a_reset_device_ends_its_captures) {
  start();
  const aclrtStream stream = new_stream();
  begin(stream);
  OK(aclrtResetDevice(0));
  OK(aclrtSetDevice(0));
  check_usable(new_stream());
}

SCENARIO(large_graphs_keep_their_order) {
  start();
  const aclrtStream stream = new_stream();
  std::vector<int> seen;
  struct Entry {
    std::vector<int>* seen;
    int number;
  };
  std::vector<Entry> entries;
  constexpr int kCount = 20000;
  for (int i = 0; i < kCount; ++i) entries.push_back({&seen, i});
  begin(stream);
  for (Entry& entry : entries) {
    OK(aclrtLaunchHostFunc(
        stream, [](void* self) { static_cast<Entry*>(self)->seen->push_back(static_cast<Entry*>(self)->number); },
        &entry));
  }
  replay(end(stream), stream);
  CHECK_EQ(seen.size(), size_t{kCount});
  for (int i = 0; i < kCount; ++i) CHECK_EQ(seen[static_cast<size_t>(i)], i);
}

SCENARIO(values_and_pinned_memory_count_as_memory) {
  start();
  const aclrtStream stream = new_stream();
  Block block;
  begin(stream);
  OK(aclrtValueWrite(block.get(), 7, 0, stream));
  const aclmdlRI writes = end(stream);
  block.release();
  const Block other;  // at the same address
  other.set(0);
  OK(aclmdlRIExecuteAsync(writes, stream));
  REFUSED(aclrtSynchronizeStream(stream), ACL_ERROR_RT_PARAM_INVALID, "aclrtValueWrite", "devAddr", "was freed");
  CHECK_EQ(other.read(), 0);
  void* pinned = nullptr;
  OK(aclrtMallocHost(&pinned, other.size()));
  begin(stream);
  OK(aclrtMemcpyAsync(other.get(), other.size(), pinned, other.size(), ACL_MEMCPY_HOST_TO_DEVICE, stream));
  const aclmdlRI copies = end(stream);
  OK(aclrtFreeHost(pinned));
  OK(aclmdlRIExecuteAsync(copies, stream));
  REFUSED(aclrtSynchronizeStream(stream), ACL_ERROR_RT_PARAM_INVALID, "aclrtMemcpyAsync", "src", "was freed");
}

SCENARIO(an_update_takes_no_pageable_memory) {
  start();
  const aclrtStream stream = new_stream();
  const aclrtStream update = new_stream();
  const Block block;
  const Updatable captured = capture_updatable(block, stream);
  std::vector<char> pageable(block.size(), 1);
  OK(aclmdlRICaptureTaskUpdateBegin(update, captured.group));
  REFUSED(aclrtMemcpyAsync(block.get(), block.size(), pageable.data(), block.size(), ACL_MEMCPY_HOST_TO_DEVICE, update),
          ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC, "pageable");
  REFUSED(aclmdlRICaptureTaskUpdateEnd(update), ACL_ERROR_STREAM_TASK_GROUP_STATUS, "nothing");
}

SCENARIO(a_body_that_could_not_be_captured_can_be_later) {
  start();
  const aclrtStream stream = new_stream();
  OK(aclrtSetDevice(1));
  const aclrtStream elsewhere = new_stream();
  OK(aclrtSetDevice(0));
  begin(stream);
  aclmdlRICaptureStatus status;
  aclmdlRI parent = nullptr;
  OK(aclmdlRICaptureGetInfo(stream, &status, &parent));
  aclmdlRICondHandle handle = nullptr;
  OK(aclmdlRICondHandleCreate(parent, 1, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &handle));
  aclmdlRI body = nullptr;
  OK(aclmdlRIAddCondTask({handle, ACL_MODEL_RI_COND_TYPE_IF, 1, &body}, stream, 0));
  REFUSED(aclmdlRICaptureToModelRIBegin(elsewhere, body, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL),
          ACL_ERROR_STREAM_CAPTURE_CONFLICT, "device 1");
  REFUSED(aclmdlRICaptureToModelRIBegin(stream, body, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_ERROR_RT_STREAM_CAPTURED,
          "already");
  const Block target;
  const Block source;
  capture_body(body, target, source);
  const aclmdlRI graph = end(stream);
  source.set(3);
  replay(graph, stream);
  CHECK_EQ(target.read(), 3);
}

SCENARIO(a_reset_device_frees_nothing_of_others) {
  start();
  const aclrtStream stream = new_stream();
  begin(stream);
  aclmdlRICaptureStatus status;
  aclmdlRI graph = nullptr;
  OK(aclmdlRICaptureGetInfo(stream, &status, &graph));
  aclmdlRICondHandle handle = nullptr;
  OK(aclmdlRICondHandleCreate(graph, 1, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &handle));
  uint64_t* condition = nullptr;
  OK(aclmdlRICondHandleGetCondPtr(handle, &condition));
  OK(aclrtResetDevice(0));
  REFUSED(aclmdlRIDestroy(graph), ACL_ERROR_RT_PARAM_INVALID, "does not exist");
  OK(aclrtSetDevice(0));
  const Block block;
  block.set(4);
  check_usable(new_stream());
  CHECK_EQ(block.read(), 4);
}

SCENARIO(no_lane_waits_for_its_own_replay) {
  start();
  struct State {
    aclrtStream stream;
    std::atomic<int> answer{-1};
  } state;
  state.stream = new_stream();
  const aclrtStream side = new_stream();
  const aclrtEvent fork = new_event();
  const aclrtEvent join = new_event();
  begin(state.stream);
  OK(aclrtRecordEvent(fork, state.stream));
  OK(aclrtStreamWaitEvent(side, fork));
  OK(aclrtLaunchHostFunc(
      side,
      [](void* self) {
        State& current = *static_cast<State*>(self);
        current.answer = aclrtSynchronizeStream(current.stream);
      },
      &state));
  OK(aclrtRecordEvent(join, side));
  OK(aclrtStreamWaitEvent(state.stream, join));
  replay(end(state.stream), state.stream);
  CHECK_EQ(state.answer.load(), int{ACL_ERROR_RT_STREAM_CONTEXT});
}

}  // namespace
