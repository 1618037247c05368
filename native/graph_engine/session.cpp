// native/graph_engine/session.cpp
// Sessions: graphs are added, compiled and run. A run on a stream is a task of that stream.
#include "ge/session.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "ge/allocator.h"
#include "graph_engine/call.h"
#include "graph_engine/engine.h"
#include "graph_engine/error_message.h"
#include "graph_engine/graph_data.h"
#include "graph_engine/run.h"
#include "graph_engine/session_data.h"
#include "graph_engine/summary.h"
#include "runtime/device.h"
#include "runtime/memory/memory.h"
#include "runtime/streams/stream.h"

namespace opwright::graph_engine {
namespace {

std::vector<int64_t> sizes_of(const ge::Tensor& tensor) { return tensor.GetTensorDesc().GetShape().GetDims(); }

class WantedTensor final : public Wanted {
 public:
  explicit WantedTensor(ge::Tensor& tensor) : tensor_(tensor) {}

  const void* data() const override { return tensor_.GetData(); }
  size_t bytes() const override { return bytes_of(tensor_.GetDataType(), sizes_of(tensor_), tensor_.GetSize()); }
  void take_host_memory(size_t bytes) override {
    tensor_.ResetData(new uint8_t[bytes], bytes, [](uint8_t* data) { delete[] data; });
  }
  void take(void* data, size_t bytes, std::shared_ptr<void> owner) override {
    tensor_.ResetData(static_cast<uint8_t*>(data), bytes, [owner = std::move(owner)](uint8_t*) mutable {
      owner.reset();  // at once: who copied this function may live longer
    });
  }
  void describe(const Answer::Output& output, bool on_host) override {
    ge::TensorDesc desc(ge::Shape(output.sizes), ge::FORMAT_ND, output.dtype);
    desc.SetOriginShape(ge::Shape(output.sizes));
    const bool in_host_memory =
        on_host || (tensor_.GetData() != nullptr && !opwright::memory::is_device_address(tensor_.GetData()));
    desc.SetPlacement(in_host_memory ? ge::kPlacementHost : ge::kPlacementDevice);
    tensor_.SetTensorDesc(desc);
  }

 private:
  ge::Tensor& tensor_;
};

// Calls `body` with the tensors of a run as the engine and the graph know them.
template <class Body>
void with_tensors(AddedGraph& graph, const std::vector<ge::Tensor>& inputs, std::vector<ge::Tensor>& outputs,
                  const Body& body) {
  graph.compile();
  RunTensors given;
  for (const ge::Tensor& tensor : inputs) {
    given.add({tensor.GetDataType(), sizes_of(tensor), tensor.GetData(), tensor.GetSize()});
  }
  if (outputs.empty()) {
    std::generate_n(std::back_inserter(outputs), graph.compiled().output_count, [] { return ge::Tensor(); });
  }
  std::vector<WantedTensor> wanted(outputs.begin(), outputs.end());
  std::vector<Wanted*> pointers;
  for (WantedTensor& each : wanted) pointers.push_back(&each);
  body(std::move(given), pointers);
}

ge::Status check_base(const char* function, uint64_t session, uint32_t id, const void* memory, size_t size) {
  return guarded(
      function,
      [&] {
        session_of(session)->find(id);  // it has to be one
        if (size != 0) memory::checked_alias(memory, size, "memory for the graph", kFailed);
      },
      arg("id", id), arg("size", size));
}

}  // namespace

const char* take_error_message() {
  thread_local std::string message;
  message = take_recent_message();
  return message.c_str();
}

}  // namespace opwright::graph_engine

namespace ge {

using opwright::arg;
using opwright::require;
using namespace opwright::graph_engine;  // NOLINT: the twin's side of this interface

// Options are checked when a graph is compiled that they hold for: whoever initializes GE keeps a failure for the whole
// process, so that one option would stop all graphs.
Status GEInitialize(const Options& options) {
  std::string lines = joined(options);
  return guarded(
      "ge::GEInitialize",
      [&] {
        engine();
        set_engine_options(std::move(lines));
      },
      arg("options", lines));
}

// There is nothing to release: graphs belong to sessions.
Status GEFinalize() {
  return guarded("ge::GEFinalize", [] { set_engine_options({}); });
}

// Nothing warns.
AscendString GEGetWarningMsgV2() { return {}; }

Session::Session(const Options& options) : id_(add_session(options)) {}

Session::~Session() { remove_session(id_); }

Status Session::AddGraph(uint32_t id, const Graph& graph, const Options& options) {
  return guarded(
      "ge::Session::AddGraph",
      [&] {
        const GraphImpl* const data = Access::data(graph);
        require(data != nullptr && !data->model.empty(), kFailed, "graph ", id, " is empty");
        const auto session = session_of(id_);
        session->add(id, std::make_shared<AddedGraph>(session->number, data->model, session->options, joined(options)));
      },
      arg("id", id));
}

Status Session::CompileGraph(uint32_t id) {
  return guarded("ge::Session::CompileGraph", [&] { session_of(id_)->find(id)->compile(); }, arg("id", id));
}

std::shared_ptr<CompiledGraphSummary> Session::GetCompiledGraphSummary(uint32_t id) {
  std::shared_ptr<CompiledGraphSummary> summary;
  guarded("ge::Session::GetCompiledGraphSummary",
          [&] { summary = std::make_shared<CompiledGraphSummary>(session_of(id_)->find(id)->summary()); });
  return summary;
}

Status Session::RemoveGraph(uint32_t id) {
  return guarded("ge::Session::RemoveGraph", [&] { session_of(id_)->remove(id); }, arg("id", id));
}

Status Session::RunGraph(uint32_t id, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  return guarded(
      "ge::Session::RunGraph",
      [&] {
        const auto graph = session_of(id_)->find(id);
        with_tensors(*graph, inputs, outputs, [&](RunTensors given, const std::vector<Wanted*>& wanted) {
          opwright::graph_engine::run(*graph, std::move(given), wanted);
        });
      },
      arg("id", id));
}

Status Session::RunGraphWithStreamAsync(uint32_t id, void* stream, const std::vector<Tensor>& inputs,
                                        std::vector<Tensor>& outputs) {
  return guarded(
      "ge::Session::RunGraphWithStreamAsync",
      [&] {
        const auto session = session_of(id_);
        const auto graph = session->find(id);
        with_tensors(*graph, inputs, outputs, [&](RunTensors given, const std::vector<Wanted*>& wanted) {
          start(stream, *graph, std::move(given), wanted, session->allocator(stream));
        });
      },
      arg("id", id), arg("stream", stream));
}

Status Session::RegisterExternalAllocator(const void* stream, std::shared_ptr<Allocator> allocator) const {
  return guarded("ge::Session::RegisterExternalAllocator",
                 [&] { session_of(id_)->set_allocator(stream, std::move(allocator)); });
}

// Memory that the caller provides for a graph is only checked: kernels take their own.
Status Session::SetGraphConstMemoryBase(uint32_t id, const void* memory, size_t size) {
  return check_base("ge::Session::SetGraphConstMemoryBase", id_, id, memory, size);
}

Status Session::UpdateGraphFeatureMemoryBase(uint32_t id, const void* memory, size_t size) {
  return check_base("ge::Session::UpdateGraphFeatureMemoryBase", id_, id, memory, size);
}

Status Session::SetGraphFixedFeatureMemoryBase(uint32_t id, const void* memory, size_t size) {
  return check_base("ge::Session::SetGraphFixedFeatureMemoryBase", id_, id, memory, size);
}

Status Session::UpdateGraphRefreshableFeatureMemoryBase(uint32_t id, const void* memory, size_t size) {
  return check_base("ge::Session::UpdateGraphRefreshableFeatureMemoryBase", id_, id, memory, size);
}

}  // namespace ge
