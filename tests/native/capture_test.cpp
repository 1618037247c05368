// tests/native/capture_test.cpp
// Captured graphs: recording, replay, forks, and memory that was freed.
#include "capture.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace {

using namespace opwright::test;

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
