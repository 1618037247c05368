// tests/native/capture_update_test.cpp
// Captured graphs: external events, and task groups that are updated.
#include <vector>

#include "capture.h"

namespace {

using namespace opwright::test;

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
  OK(aclmdlRIDestroy(captured.graph));
  REFUSED(aclmdlRICaptureTaskUpdateBegin(update, captured.group), ACL_ERROR_STREAM_TASK_GROUP_STATUS, "does not exist");
}

SCENARIO(a_stream_that_is_left_in_an_update_works_for_others) {
  start();
  const aclrtStream stream = new_stream();
  const aclrtStream update = new_stream();
  const Block block;
  const Block source;
  source.set(8);
  const Updatable captured = capture_updatable(block, stream);
  OK(aclmdlRICaptureTaskUpdateBegin(update, captured.group));
  block.copy_from(source, update);  // the group holds no copy, so this one is no part of the update
  OK(aclrtSynchronizeStream(update));
  CHECK_EQ(block.read(), 8);
  OK(aclmdlRICaptureTaskUpdateBegin(update, captured.group));
  block.fill(9, update);  // the group holds such an operator
  REFUSED(aclrtSynchronizeStream(update), ACL_ERROR_STREAM_TASK_GROUP_STATUS, "left in an update", "aclrtMemsetAsync");
  CHECK_EQ(block.read(), 8);
  block.fill(9, update);
  OK(aclrtSynchronizeStream(update));
  CHECK_EQ(block.read(), 9);
  OK(aclmdlRICaptureTaskUpdateBegin(update, captured.group));
  begin(update);
  block.fill(7, update);
  const aclmdlRI graph = end(update);
  replay(graph, update);
  CHECK_EQ(block.read(), 7);
  OK(aclmdlRIDestroy(graph));
  OK(aclmdlRICaptureTaskUpdateBegin(update, captured.group));
  OK(aclrtDestroyStream(update));
  OK(aclmdlRIDestroy(captured.graph));
}

SCENARIO(groups_have_to_end_before_their_capture) {
  start();
  const aclrtStream stream = new_stream();
  begin(stream);
  OK(aclmdlRICaptureTaskGrpBegin(stream));
  REFUSED(aclmdlRICaptureTaskGrpBegin(stream), ACL_ERROR_STREAM_TASK_GROUP_STATUS, "open task group");
  aclmdlRI none = nullptr;
  REFUSED(aclmdlRICaptureEnd(stream, &none), ACL_ERROR_STREAM_TASK_GROUP_INTR, "open task group");
  check_usable(stream);
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

}  // namespace
