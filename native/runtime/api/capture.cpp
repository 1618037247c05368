// native/runtime/api/capture.cpp
// Capture and replay of NPU graphs.
#include "runtime/streams/capture/capture.h"

#include "acl/acl_mdl.h"
#include "runtime/call.h"
#include "runtime/device.h"
#include "runtime/streams/capture/condition.h"
#include "runtime/streams/capture/dump.h"
#include "runtime/streams/capture/order.h"
#include "runtime/streams/capture/replay.h"
#include "runtime/streams/capture/task_group.h"

using namespace opwright;

namespace {

void require_mode(aclmdlRICaptureMode mode) {
  require(mode >= ACL_MODEL_RI_CAPTURE_MODE_GLOBAL && mode <= ACL_MODEL_RI_CAPTURE_MODE_RELAXED,
          ACL_ERROR_RT_PARAM_INVALID, "capture mode ", static_cast<int>(mode),
          " does not exist; allowed: 0 (global), 1 (thread local), 2 (relaxed)");
}

std::shared_ptr<Stream> capturable_stream(aclrtStream handle) {
  require(handle != nullptr, ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT,
          "the default stream cannot be captured; create a stream for it");
  return stream_of(handle);
}

std::shared_ptr<Capture> capture_on(const Stream& stream) {
  auto capture = capture_of(stream);
  require(capture != nullptr, ACL_ERROR_RT_STREAM_NOT_CAPTURED, "stream ", stream.id(), " is not being captured");
  return capture;
}

// A graph that can be launched.
std::shared_ptr<Graph> ready_graph(aclmdlRI handle) {
  auto graph = graphs().find(handle);
  require(graph->state.load() == Graph::State::kReady, ACL_ERROR_RT_MODEL_CAPTURED, "graph ", graph->id(),
          graph->state.load() == Graph::State::kCapturing ? " is still being captured" : " was never captured");
  return graph;
}

size_t bodies_of(const aclmdlRICondTaskParams& params) {
  switch (params.type) {
    case ACL_MODEL_RI_COND_TYPE_IF:
      require(params.size == 1 || params.size == 2, ACL_ERROR_RT_PARAM_INVALID, "an if has 1 or 2 bodies, not ",
              params.size);
      return params.size;
    case ACL_MODEL_RI_COND_TYPE_WHILE:
      require(params.size == 1, ACL_ERROR_RT_PARAM_INVALID, "a while has 1 body, not ", params.size);
      return params.size;
    case ACL_MODEL_RI_COND_TYPE_SWITCH:
      require(params.size > 0, ACL_ERROR_RT_PARAM_INVALID, "a switch has at least 1 body");
      return params.size;
  }
  fail(ACL_ERROR_RT_PARAM_INVALID, "condition type ", static_cast<int>(params.type),
       " does not exist; allowed: 0 (if), 1 (while), 2 (switch)");
}

}  // namespace

aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode) {
  return call(
      "aclmdlRICaptureBegin",
      [&] {
        require_mode(mode);
        const auto target = capturable_stream(stream);
        const auto capture = Capture::begin(target, std::make_shared<Graph>(target->device()), mode);
        graphs().add(capture->graph());
      },
      arg("stream", stream), arg("mode", mode));
}

aclError aclmdlRICaptureToModelRIBegin(aclrtStream stream, aclmdlRI modelRI, aclmdlRICaptureMode mode) {
  return call(
      "aclmdlRICaptureToModelRIBegin",
      [&] {
        require_mode(mode);
        Capture::begin(capturable_stream(stream), graphs().find(modelRI), mode);
      },
      arg("stream", stream), arg("modelRI", modelRI), arg("mode", mode));
}

aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI* modelRI) {
  return call(
      "aclmdlRICaptureEnd",
      [&] {
        aclmdlRI& result = out(modelRI, "modelRI");
        result = nullptr;
        const auto target = stream_of(stream);
        const auto capture = capture_on(*target);
        try {
          const auto graph = capture->end(*target);
          dump::write_if_wanted(*graph);
          report_order_dependences(*capture);
          result = graph.get();
        } catch (const Error&) {
          if (!capture->ongoing()) give_up(*capture->graph());
          throw;
        }
      },
      arg("stream", stream));
}

aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus* status, aclmdlRI* modelRI) {
  return call(
      "aclmdlRICaptureGetInfo",
      [&] {
        const auto capture = capture_of(*stream_of(stream));
        out(status, "status") = capture == nullptr ? ACL_MODEL_RI_CAPTURE_STATUS_NONE
                                : capture->valid() ? ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE
                                                   : ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED;
        if (modelRI != nullptr) *modelRI = capture == nullptr ? nullptr : capture->graph().get();
      },
      arg("stream", stream));
}

aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode* mode) {
  return call("aclmdlRICaptureThreadExchangeMode", [&] {
    require_mode(out(mode, "mode"));
    *mode = exchange_thread_mode(*mode);
  });
}

aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream) {
  return call(
      "aclmdlRICaptureTaskGrpBegin",
      [&] {
        const auto target = stream_of(stream);
        capture_on(*target)->begin_group(*target);
      },
      arg("stream", stream));
}

aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp* handle) {
  return call(
      "aclmdlRICaptureTaskGrpEnd",
      [&] {
        aclrtTaskGrp& result = out(handle, "handle");
        const auto target = stream_of(stream);
        result = task_groups().add(capture_on(*target)->end_group(*target));
      },
      arg("stream", stream));
}

aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp handle) {
  return call(
      "aclmdlRICaptureTaskUpdateBegin", [&] { begin_update(*stream_of(stream), task_groups().find(handle)); },
      arg("stream", stream), arg("handle", handle));
}

aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream) {
  return call("aclmdlRICaptureTaskUpdateEnd", [&] { end_update(*stream_of(stream)); }, arg("stream", stream));
}

aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream) {
  return call(
      "aclmdlRIExecuteAsync",
      [&] {
        const auto graph = ready_graph(modelRI);
        const auto target = stream_of(stream);
        require(graph->device() == target->device(), ACL_ERROR_RT_STREAM_CONTEXT, "graph ", graph->id(),
                " was captured on device ", graph->device(), ", but the stream belongs to device ", target->device());
        launch(graph, *target);
      },
      arg("modelRI", modelRI), arg("stream", stream));
}

// Launches that are under way keep the graph alive until they are done.
aclError aclmdlRIDestroy(aclmdlRI modelRI) {
  return call(
      "aclmdlRIDestroy",
      [&] {
        const auto graph = graphs().find(modelRI);
        require(graph->state.load() != Graph::State::kCapturing, ACL_ERROR_RT_MODEL_CAPTURED, "graph ", graph->id(),
                " is still being captured; end the capture first");
        drop_handles(*graph);
        graphs().remove(modelRI);
      },
      arg("modelRI", modelRI));
}

aclError aclmdlRIGetId(aclmdlRI modelRI, uint32_t* modelRIId) {
  return call(
      "aclmdlRIGetId", [&] { out(modelRIId, "modelRIId") = graphs().find(modelRI)->id(); }, arg("modelRI", modelRI));
}

aclError aclmdlRICondHandleCreate(aclmdlRI modelRI, uint32_t defaultLaunchValue, aclmdlRICondHandleFlag flag,
                                  aclmdlRICondHandle* handle) {
  return call(
      "aclmdlRICondHandleCreate",
      [&] {
        aclmdlRICondHandle& result = out(handle, "handle");
        const auto graph = graphs().find(modelRI);
        const auto capture = capture_into(*graph);
        require(flag == 0 || flag == ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, ACL_ERROR_RT_PARAM_INVALID,
                "condition flag ", static_cast<int>(flag), " does not exist; allowed: 0, 1 (assign default)");
        auto initial = flag == 0 ? std::nullopt : std::optional<uint64_t>(defaultLaunchValue);
        const auto condition = std::make_shared<Condition>(graph, initial);
        capture->add_condition(condition);
        result = conditions().add(condition);
      },
      arg("modelRI", modelRI), arg("defaultLaunchValue", defaultLaunchValue), arg("flag", flag));
}

aclError aclmdlRICondHandleGetCondPtr(aclmdlRICondHandle handle, uint64_t** ptr) {
  return call(
      "aclmdlRICondHandleGetCondPtr",
      [&] { out(ptr, "ptr") = static_cast<uint64_t*>(conditions().find(handle)->address); }, arg("handle", handle));
}

aclError aclmdlRIAddCondTask(aclmdlRICondTaskParams params, aclrtStream stream, uint32_t flags) {
  return call(
      "aclmdlRIAddCondTask",
      [&] {
        require(flags == 0, ACL_ERROR_RT_PARAM_INVALID, "flags ", flags, " do not exist; allowed: 0");
        out(params.modelRIArray, "params.modelRIArray");
        const auto condition = conditions().find(params.handle);
        const size_t count = bodies_of(params);
        const auto target = stream_of(stream);
        const auto capture = capture_on(*target);
        require(condition->graph.lock() == capture->graph(), ACL_ERROR_STREAM_CAPTURE_CONFLICT,
                "the condition belongs to another graph than the one that stream ", target->id(), " captures");
        std::vector<std::shared_ptr<Graph>> bodies;
        for (size_t i = 0; i < count; ++i) bodies.push_back(std::make_shared<Graph>(target->device(), true));
        capture->add_conditional(*target, condition, params.type, bodies);
        for (size_t i = 0; i < count; ++i) params.modelRIArray[i] = graphs().add(bodies[i]);
      },
      arg("type", params.type), arg("size", params.size), arg("stream", stream));
}

// CANN writes this to its log.
aclError aclmdlRIDebugPrint(aclmdlRI modelRI) {
  return call("aclmdlRIDebugPrint", [&] { dump::print(*ready_graph(modelRI)); }, arg("modelRI", modelRI));
}

aclError aclmdlRIDebugJsonPrint(aclmdlRI modelRI, const char* path, uint32_t flags) {
  constexpr uint32_t kVerbose = 1;
  return call(
      "aclmdlRIDebugJsonPrint",
      [&] {
        out(path, "path");
        require((flags & ~kVerbose) == 0, ACL_ERROR_RT_PARAM_INVALID, "flags ", flags,
                " do not exist; allowed: 0, 1 (verbose)");
        dump::write_json(*ready_graph(modelRI), path, (flags & kVerbose) != 0);
      },
      arg("modelRI", modelRI), arg("path", path), arg("flags", flags));
}
