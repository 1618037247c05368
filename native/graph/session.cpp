// native/graph/session.cpp
// Sessions: graphs are added, compiled and run. A run on a stream is a task of that stream.
#include "ge/session.h"

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "acl/acl_desc.h"
#include "ge/allocator.h"
#include "graph/engine.h"
#include "graph/error_message.h"
#include "graph/graph_data.h"
#include "graph/summary.h"
#include "runtime/call.h"
#include "runtime/device.h"
#include "runtime/memory.h"

namespace opwright::graph {
namespace {

constexpr int kFailed = static_cast<int>(ge::FAILED);
constexpr size_t kMostPrograms = 64;  // that are kept for one graph
// What the summary asks the caller to provide. Kernels allocate what they need by themselves.
constexpr size_t kNominalMemory = 512;

std::atomic<uint64_t> next_handle{1};

void* reach(const void* data) {
  return memory::is_device_address(data) ? memory::alias_of(data) : const_cast<void*>(data);
}

// How many bytes the elements of a tensor take. Its own size may be that of another shape: TorchAir does not refresh it
// when a tensor of a new shape lies where the last one was.
size_t bytes_of(const ge::Tensor& tensor) {
  if (tensor.GetData() == nullptr) return 0;
  const int64_t count = tensor.GetTensorDesc().GetShape().GetShapeSize();
  const size_t item = aclDataTypeSize(static_cast<aclDataType>(tensor.GetDataType()));
  const bool is_scalar = tensor.GetTensorDesc().GetShape().GetDims().empty();
  if (item == 0 || count < 0) return tensor.GetSize();
  return item * (is_scalar ? 1 : static_cast<size_t>(count));
}

// Tensors as the engine gets them, with what they point to.
class Tensors {
 public:
  // Host memory is copied: its owner may reuse it as soon as an asynchronous call returns.
  void add(const ge::Tensor& tensor) {
    const void* const data = tensor.GetData();
    const bool on_host = data != nullptr && !memory::is_device_address(data);
    if (data != nullptr && !on_host) {
      memory::checked_alias(data, bytes_of(tensor), "input", kFailed);
      device_memory_.push_back(data);
    }
    sizes_.push_back(tensor.GetTensorDesc().GetShape().GetDims());
    copies_.emplace_back();
    if (on_host) copies_.back().assign(tensor.GetData(), tensor.GetData() + bytes_of(tensor));
    views_.push_back({tensor.GetDataType(), on_host || data == nullptr, 0, nullptr, on_host ? nullptr : reach(data),
                      bytes_of(tensor)});
  }
  // What a program depends on: types, shapes, and the values on the host if there are any when it is made.
  std::string key(bool with_values) const {
    std::string result;
    for (size_t i = 0; i < views_.size(); ++i) {
      append(result, &views_[i].dtype, sizeof views_[i].dtype);
      const auto rank = static_cast<int64_t>(sizes_[i].size());
      append(result, &rank, sizeof rank);
      append(result, sizes_[i].data(), sizes_[i].size() * sizeof(int64_t));
      if (!with_values || views_[i].on_host == 0) continue;
      append(result, &views_[i].bytes, sizeof views_[i].bytes);
      append(result, copies_[i].data(), copies_[i].size());
    }
    return result;
  }
  void append_addresses(std::vector<void*>& addresses) {
    views();
    for (const EngineTensor& view : views_) addresses.push_back(view.data);
  }
  void add_output(const Answer::Output& output, void* data, size_t bytes) {
    sizes_.push_back(output.sizes);
    copies_.emplace_back();
    views_.push_back({output.dtype, 0, 0, nullptr, reach(data), bytes});
  }
  size_t size() const noexcept { return views_.size(); }
  const EngineTensor* views() {
    for (size_t i = 0; i < views_.size(); ++i) {
      views_[i].rank = static_cast<int64_t>(sizes_[i].size());
      views_[i].sizes = sizes_[i].data();
      if (!copies_[i].empty()) views_[i].data = copies_[i].data();
    }
    return views_.data();
  }

 private:
  static void append(std::string& text, const void* data, size_t size) {
    text.append(static_cast<const char*>(data), size);
  }

  std::vector<EngineTensor> views_;
  std::vector<std::vector<int64_t>> sizes_;
  std::vector<std::vector<uint8_t>> copies_;
  std::vector<const void*> device_memory_;
};

// A graph for inputs of given shapes and values. Runs that are under way keep it.
class Program {
 public:
  explicit Program(Answer answer) : answer_(std::move(answer)) {}
  ~Program() { engine().forget(answer_.program); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  uint64_t id() const noexcept { return answer_.program; }
  const std::vector<Answer::Output>& outputs() const noexcept { return answer_.outputs; }

 private:
  const Answer answer_;
};

// A graph of a session. Runs that are under way keep it.
class AddedGraph {
 public:
  AddedGraph(std::string model, std::string options) : model_(std::move(model)), options_(std::move(options)) {}
  ~AddedGraph() {
    if (compiled_) engine().remove(handle_);
  }
  AddedGraph(const AddedGraph&) = delete;
  AddedGraph& operator=(const AddedGraph&) = delete;

  // The program for these inputs. No lock is held while Python runs: whoever has the interpreter may want the lock.
  std::shared_ptr<const Program> program(Tensors& inputs) {
    const std::string key = inputs.key(/*with_values=*/!summary_.is_static);
    {
      const std::lock_guard<std::mutex> lock(programs_mutex_);
      const auto it = programs_.find(key);
      if (it != programs_.end()) return it->second;
    }
    Answer answer;
    engine().prepare(handle_, inputs.views(), inputs.size(), &answer);
    check(answer);
    auto made = std::make_shared<const Program>(std::move(answer));
    std::map<std::string, std::shared_ptr<const Program>> surplus;
    const std::lock_guard<std::mutex> lock(programs_mutex_);
    if (programs_.size() >= kMostPrograms) surplus.swap(programs_);
    programs_.emplace(key, made);
    return made;
  }

  void compile() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (compiled_) return;
    Answer answer;
    engine().compile(handle_, model_.data(), model_.size(), options_.c_str(), &answer);
    check(answer);
    compiled_ = true;
    summary_ = std::move(answer);
  }

  std::shared_ptr<ge::SummaryData> summary() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    require(compiled_, kFailed, "the graph is not compiled");
    auto data = std::make_shared<ge::SummaryData>();
    data->is_static = summary_.is_static;
    data->const_memory = data->feature_memory = data->fixed_feature_memory = kNominalMemory;
    for (const Answer::Output& output : summary_.outputs) {
      data->output_dims.push_back(output.sizes);
      data->output_types.push_back(output.dtype);
    }
    return data;
  }

 private:
  const uint64_t handle_ = next_handle.fetch_add(1);
  const std::string model_;
  const std::string options_;
  mutable std::mutex mutex_;
  bool compiled_ = false;
  Answer summary_;
  std::mutex programs_mutex_;
  std::map<std::string, std::shared_ptr<const Program>> programs_;
};

struct SessionData {
  std::mutex mutex;
  std::map<uint32_t, std::shared_ptr<AddedGraph>> graphs;
  std::map<const void*, std::shared_ptr<ge::Allocator>> allocators;  // by stream

  std::shared_ptr<AddedGraph> find(uint32_t id) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto it = graphs.find(id);
    require(it != graphs.end(), kFailed, "the session has no graph ", id);
    return it->second;
  }
};

Handles<SessionData>& sessions() {
  static auto* const instance = new Handles<SessionData>("session", kFailed);
  return *instance;
}

std::shared_ptr<SessionData> session_of(uint64_t id) { return sessions().find(reinterpret_cast<const void*>(id)); }

// key=value lines.
std::string joined(const ge::Options& options) {
  std::string result;
  for (const auto& [key, value] : options) result += text(key.GetString(), "=", value.GetString(), "\n");
  return result;
}

// Gives an output that has no memory some: from the caller's allocator, or from the device.
void allocate(ge::Tensor& tensor, size_t bytes, const std::shared_ptr<ge::Allocator>& allocator) {
  if (bytes == 0) return;
  if (allocator != nullptr) {
    ge::MemBlock* const block = allocator->Malloc(bytes);
    require(block != nullptr, ACL_ERROR_RT_MEMORY_ALLOCATION, "the caller's allocator has no ", bytes, " bytes");
    tensor.ResetData(static_cast<uint8_t*>(block->address()), bytes, [block, allocator](uint8_t*) { block->free(); });
    return;
  }
  auto* const data = static_cast<uint8_t*>(memory::allocate(current_device().id(), bytes));
  tensor.ResetData(data, bytes, [](uint8_t* address) { memory::release(address); });
}

void describe(ge::Tensor& tensor, const Answer::Output& output, ge::Placement placement) {
  ge::TensorDesc desc(ge::Shape(output.sizes), ge::FORMAT_ND, output.dtype);
  desc.SetOriginShape(ge::Shape(output.sizes));
  desc.SetPlacement(placement);
  tensor.SetTensorDesc(desc);
}

void check_size(const ge::Tensor& tensor, const Answer::Output& output, size_t index) {
  const size_t needed = output.bytes;
  require(bytes_of(tensor) >= needed, kFailed, "E19025: output ", index, " has ", bytes_of(tensor),
          " bytes, but the graph computes ", needed, "; the shape that Meta gives it is not the graph's");
}

class RunTask final : public Task {
 public:
  RunTask(std::shared_ptr<const Program> program, Tensors inputs, Tensors outputs)
      : program_(std::move(program)),
        threads_(engine().threads()),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)) {}

  void run() override {
    std::vector<void*> addresses;
    addresses.reserve(inputs_.size() + outputs_.size());
    inputs_.append_addresses(addresses);
    outputs_.append_addresses(addresses);
    Answer answer;
    engine().run(program_->id(), addresses.data(), addresses.size(), threads_, &answer);
    check(answer);
  }
  const char* name() const noexcept override { return "ge::Session::RunGraph"; }
  const char* capture_obstacle() const noexcept override {
    return "a graph of the graph engine is no sequence of launches; use one of the two graph modes";
  }

 private:
  const std::shared_ptr<const Program> program_;
  const int threads_;  // of the thread that asked for the run
  Tensors inputs_;
  Tensors outputs_;
};

std::unique_ptr<RunTask> prepare(const std::shared_ptr<AddedGraph>& graph, const std::vector<ge::Tensor>& inputs,
                                 std::vector<ge::Tensor>& outputs, bool on_host,
                                 const std::shared_ptr<ge::Allocator>& allocator) {
  Tensors given;
  for (const ge::Tensor& tensor : inputs) given.add(tensor);
  const std::shared_ptr<const Program> program = graph->program(given);
  const std::vector<Answer::Output>& computed = program->outputs();
  if (outputs.empty()) {
    for (size_t i = 0; i < computed.size(); ++i) outputs.emplace_back();
  }
  require(outputs.size() == computed.size(), kFailed, "the graph has ", computed.size(), " outputs, but there are ",
          outputs.size(), " tensors for them");
  Tensors wanted;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const size_t bytes = computed[i].bytes;
    if (outputs[i].GetData() != nullptr) {
      check_size(outputs[i], computed[i], i);
    } else if (on_host) {
      outputs[i].ResetData(new uint8_t[bytes], bytes, [](uint8_t* data) { delete[] data; });
    } else {
      allocate(outputs[i], bytes, allocator);
    }
    describe(outputs[i], computed[i], on_host ? ge::kPlacementHost : ge::kPlacementDevice);
    wanted.add_output(computed[i], outputs[i].GetData(), bytes);
  }
  return std::make_unique<RunTask>(program, std::move(given), std::move(wanted));
}

template <class Body, class... Args>
ge::Status guarded(const char* function, Body&& body, const Args&... args) {
  return call(function, std::forward<Body>(body), args...) == 0 ? ge::SUCCESS : ge::FAILED;
}

}  // namespace

const char* take_error_message() {
  thread_local std::string message;
  message = take_recent_message();
  return message.c_str();
}

}  // namespace opwright::graph

namespace ge {

using opwright::arg;
using opwright::require;
using namespace opwright::graph;  // NOLINT: the twin's side of this interface

Status GEInitialize(const Options& options) {
  return guarded("ge::GEInitialize", [] { engine(); }, arg("options", joined(options)));
}

// There is nothing to release: graphs belong to sessions.
Status GEFinalize() { return SUCCESS; }

// Nothing warns.
AscendString GEGetWarningMsgV2() { return {}; }

Session::Session(const Options&) : id_(reinterpret_cast<uint64_t>(sessions().add(std::make_shared<SessionData>()))) {}

Session::~Session() { sessions().remove_if_live(reinterpret_cast<const void*>(id_)); }

Status Session::AddGraph(uint32_t id, const Graph& graph, const Options& options) {
  return guarded(
      "ge::Session::AddGraph",
      [&] {
        const GraphImpl* const data = Access::data(graph);
        require(data != nullptr && !data->model.empty(), kFailed, "graph ", id, " is empty");
        const auto session = session_of(id_);
        auto added = std::make_shared<AddedGraph>(data->model, joined(options));
        const std::lock_guard<std::mutex> lock(session->mutex);
        require(session->graphs.emplace(id, std::move(added)).second, kFailed, "the session has a graph ", id,
                " already");
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
  return guarded(
      "ge::Session::RemoveGraph",
      [&] {
        const auto session = session_of(id_);
        session->find(id);
        const std::lock_guard<std::mutex> lock(session->mutex);
        session->graphs.erase(id);
      },
      arg("id", id));
}

Status Session::RunGraph(uint32_t id, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  return guarded(
      "ge::Session::RunGraph",
      [&] {
        const auto graph = session_of(id_)->find(id);
        graph->compile();
        prepare(graph, inputs, outputs, /*on_host=*/true, nullptr)->run();
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
        graph->compile();
        std::shared_ptr<Allocator> allocator;
        {
          const std::lock_guard<std::mutex> lock(session->mutex);
          const auto it = session->allocators.find(stream);
          if (it != session->allocators.end()) allocator = it->second;
        }
        opwright::stream_of(stream)->submit(prepare(graph, inputs, outputs, /*on_host=*/false, allocator));
      },
      arg("id", id), arg("stream", stream));
}

Status Session::RegisterExternalAllocator(const void* stream, std::shared_ptr<Allocator> allocator) const {
  return guarded("ge::Session::RegisterExternalAllocator", [&] {
    const auto session = session_of(id_);
    const std::lock_guard<std::mutex> lock(session->mutex);
    session->allocators[stream] = std::move(allocator);
  });
}

// The caller's memory for constants and intermediate results: accepted, but kernels allocate their own.
Status Session::SetGraphConstMemoryBase(uint32_t id, const void*, size_t) {
  return guarded("ge::Session::SetGraphConstMemoryBase", [&] { session_of(id_)->find(id); }, arg("id", id));
}

Status Session::UpdateGraphFeatureMemoryBase(uint32_t id, const void*, size_t) {
  return guarded("ge::Session::UpdateGraphFeatureMemoryBase", [&] { session_of(id_)->find(id); }, arg("id", id));
}

Status Session::SetGraphFixedFeatureMemoryBase(uint32_t id, const void*, size_t) {
  return guarded("ge::Session::SetGraphFixedFeatureMemoryBase", [&] { session_of(id_)->find(id); }, arg("id", id));
}

Status Session::UpdateGraphRefreshableFeatureMemoryBase(uint32_t id, const void*, size_t) {
  return guarded(
      "ge::Session::UpdateGraphRefreshableFeatureMemoryBase", [&] { session_of(id_)->find(id); }, arg("id", id));
}

}  // namespace ge
