// native/graph_engine/fast_path.cpp
// The fast path: TorchAir looks these functions up by their plain names, and uses them if they are there. A graph is
// loaded once, for one stream, and then executed with tensors that the caller keeps.
#include <algorithm>
#include <atomic>
#include <vector>

#include "ge/runtime_tensor.h"
#include "graph_engine/call.h"
#include "graph_engine/run.h"
#include "graph_engine/session_data.h"
#include "runtime/device.h"
#include "runtime/memory/memory.h"
#include "runtime/streams/stream.h"

namespace opwright::graph_engine {
namespace {

// Memory that tensors of the caller share.
struct Shared {
  std::atomic<size_t> users{1};
  void* data;
  std::shared_ptr<void> owner;
};

ge::graphStatus manage(void* block, gert::TensorOperateType operation, void** out) {
  auto* const shared = static_cast<Shared*>(block);
  switch (operation) {
    case gert::kGetTensorAddress:
      *out = shared->data;
      return ge::GRAPH_SUCCESS;
    case gert::kPlusShareCount:
      ++shared->users;
      return ge::GRAPH_SUCCESS;
    case gert::kFreeTensor:
      if (--shared->users == 0) delete shared;
      return ge::GRAPH_SUCCESS;
  }
  return ge::GRAPH_FAILED;
}

class WantedRuntimeTensor final : public Wanted {
 public:
  explicit WantedRuntimeTensor(gert::Tensor& tensor) : tensor_(tensor) {}

  const void* data() const override { return tensor_.data().address(); }
  // TorchAir refreshes the size or the shape, whichever its executor keeps for all runs.
  size_t bytes() const override {
    const size_t size = tensor_.data().size();
    return std::max(size, bytes_of(tensor_.type(), tensor_.shape().storage.dims(), size));
  }
  void take_host_memory(size_t) override { fail(kFailed, "the fast path gives no outputs on the host"); }
  void take(void* data, size_t bytes, std::shared_ptr<void> owner) override {
    tensor_.data().set(new Shared{{1}, data, std::move(owner)}, manage, bytes);
  }
  void describe(const Answer::Output& output, bool) override {
    const bool on_host = data() != nullptr && !memory::is_device_address(data());
    require(tensor_.set_shape(output.sizes), kFailed, "an output has ", output.sizes.size(), " dimensions");
    tensor_.set_type(output.dtype);
    tensor_.set_format(ge::FORMAT_ND);
    tensor_.data().set_placement(on_host ? gert::kOnHost : gert::kOnDeviceHbm);
  }

 private:
  gert::Tensor& tensor_;
};

void execute(const ge::Session& session, uint32_t id, void* stream, const std::vector<gert::Tensor>& inputs,
             std::vector<gert::Tensor>& outputs) {
  const auto data = session_of(number_of(session));
  const auto graph = data->find(id);
  graph->compile();
  RunTensors given;
  for (const gert::Tensor& tensor : inputs) {
    given.add({tensor.type(), tensor.shape().storage.dims(), tensor.address(), tensor.data().size()});
  }
  std::vector<WantedRuntimeTensor> wanted(outputs.begin(), outputs.end());
  std::vector<Wanted*> pointers;
  for (WantedRuntimeTensor& each : wanted) pointers.push_back(&each);
  start(stream, *graph, std::move(given), pointers, data->allocator(stream));
}

}  // namespace
}  // namespace opwright::graph_engine

using namespace opwright::graph_engine;  // NOLINT: the twin's side of this interface
using opwright::arg;

extern "C" {

OPWRIGHT_API ge::Status GeSessionLoadGraph(ge::Session& session, uint32_t id, const ge::Options& options,
                                           void* stream) {
  return guarded(
      "GeSessionLoadGraph",
      [&] {
        opwright::stream_of(stream);  // it has to be one
        session_of(number_of(session))->find(id)->load(joined(options));
      },
      arg("id", id), arg("stream", stream));
}

OPWRIGHT_API ge::Status GeSessionExecuteGraphWithStreamAsync(ge::Session& session, uint32_t id, void* stream,
                                                             const std::vector<gert::Tensor>& inputs,
                                                             std::vector<gert::Tensor>& outputs) {
  return guarded(
      "GeSessionExecuteGraphWithStreamAsync", [&] { execute(session, id, stream, inputs, outputs); }, arg("id", id),
      arg("stream", stream));
}
}
