// native/graph_engine/added_graph.cpp
#include "graph_engine/added_graph.h"

#include <atomic>
#include <utility>

#include "runtime/gil.h"

namespace opwright::graph_engine {
namespace {

// Memory that the summary asks the caller to provide. Kernels allocate what they need by themselves.
constexpr size_t kNominalMemory = 512;
constexpr size_t kMostPrograms = 64;  // that are kept for one graph

std::atomic<uint64_t> next_handle{1};

}  // namespace

AddedGraph::AddedGraph(uint64_t session, std::string model, std::string inherited, std::string options)
    : handle_(next_handle.fetch_add(1)),
      session_(session),
      model_(std::move(model)),
      inherited_(std::move(inherited)),
      options_(std::move(options)) {
  check_options("a graph", options_);
}

AddedGraph::~AddedGraph() {
  if (compiled_ && engine_is_there()) engine().remove(handle_);
}

void AddedGraph::compile() {
  const GilRelease released;  // Python compiles, maybe for a thread that others wait for here
  const std::lock_guard<std::mutex> one_at_a_time(compiling_);
  if (is_compiled()) return;
  Answer answer;
  engine().compile(handle_, session_, model_.data(), model_.size(), inherited_.c_str(), options_.c_str(), &answer);
  check(answer);
  const std::lock_guard<std::mutex> lock(mutex_);
  compiled_ = true;
  answer_ = std::move(answer);
}

bool AddedGraph::is_compiled() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return compiled_;
}

// No lock is held while Python runs: whoever has the interpreter may want the lock.
std::shared_ptr<const Program> AddedGraph::program(RunTensors& inputs) {
  const std::string key = inputs.key(/*with_values=*/!compiled().is_fixed);
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

void AddedGraph::load(const std::string& options) {
  compile();
  Answer answer;
  engine().load(handle_, options.c_str(), &answer);
  check(answer);
}

std::shared_ptr<ge::SummaryData> AddedGraph::summary() const {
  const Answer& found = compiled();
  auto data = std::make_shared<ge::SummaryData>();
  data->graph = handle_;
  data->is_static = found.is_static;
  data->refreshable = found.is_refreshable;
  data->const_memory = data->feature_memory = data->fixed_feature_memory = kNominalMemory;
  for (const Answer::Output& output : found.outputs) {
    data->output_dims.push_back(output.sizes);
    data->output_types.push_back(output.dtype);
  }
  return data;
}

const Answer& AddedGraph::compiled() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  require(compiled_, kFailed, "the graph is not compiled");
  return answer_;  // it does not change any more
}

}  // namespace opwright::graph_engine
