// tests/native/capture_condition_test.cpp
// Captured graphs: conditions and the bodies that they choose.
#include "capture.h"

namespace {

using namespace opwright::test;

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
  const aclmdlRICondHandle handle = new_condition(stream, 0);
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
  const aclmdlRICondHandle handle = new_condition(stream, 1);
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
  const aclmdlRICondHandle handle = new_condition(stream, 0);
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

SCENARIO(a_body_that_could_not_be_captured_can_be_later) {
  start();
  const aclrtStream stream = new_stream();
  OK(aclrtSetDevice(1));
  const aclrtStream elsewhere = new_stream();
  OK(aclrtSetDevice(0));
  begin(stream);
  const aclmdlRICondHandle handle = new_condition(stream, 1);
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
  const aclmdlRI graph = graph_of(stream);
  const aclmdlRICondHandle handle = new_condition(stream, 1);
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

}  // namespace
