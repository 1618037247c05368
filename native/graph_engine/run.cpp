// native/graph_engine/run.cpp
#include "graph_engine/run.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph_engine/custom/call.h"
#include "runtime/device.h"
#include "runtime/memory/memory.h"

namespace opwright::graph_engine {
namespace {

class RunTask final : public Task {
 public:
  RunTask(std::shared_ptr<const Program> program, RunTensors inputs, RunTensors outputs)
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
  bool launches() const noexcept { return program_->launches(); }
  std::vector<MemoryRange> memory_ranges() override {
    const std::vector<size_t>& written = program_->written_inputs();
    std::vector<MemoryRange> ranges;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const bool is_written = std::find(written.begin(), written.end(), i) != written.end();
      ranges.push_back(inputs_.range(i, /*read=*/true, is_written, "an input"));
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      ranges.push_back(outputs_.range(i, /*read=*/false, /*written=*/true, "an output"));
    }
    return ranges;
  }
  const char* capture_obstacle() const noexcept override {
    return "a graph of the graph engine is no sequence of launches; use one of the two graph modes";
  }

 private:
  const std::shared_ptr<const Program> program_;
  const int threads_;  // of the thread that asked for the run
  RunTensors inputs_;
  RunTensors outputs_;
};

// Memory of the device, from the caller's allocator if there is one.
void* allocate(size_t bytes, const std::shared_ptr<ge::Allocator>& allocator, std::shared_ptr<void>& owner) {
  if (allocator != nullptr) {
    ge::MemBlock* const block = allocator->Malloc(bytes);
    require(block != nullptr, ACL_ERROR_RT_MEMORY_ALLOCATION, "the caller's allocator has no ", bytes, " bytes");
    owner = std::shared_ptr<void>(block->address(), [block, allocator](void*) { block->free(); });
    return block->address();
  }
  void* const data = memory::allocate(current_device().id(), bytes);
  owner = std::shared_ptr<void>(data, [](void* address) { memory::release(address); });
  return data;
}

void give_memory(Wanted& wanted, const Answer::Output& output, size_t index, bool on_host,
                 const std::shared_ptr<ge::Allocator>& allocator) {
  if (wanted.data() != nullptr) {
    require(wanted.bytes() >= output.bytes, kFailed, "E19025: output ", index, " has ", wanted.bytes(),
            " bytes, but the graph computes ", output.bytes, "; the shape that Meta gives it is not the graph's");
    if (memory::is_device_address(wanted.data())) {
      memory::checked_alias(wanted.data(), output.bytes, "output", kFailed);
    }
  } else if (on_host) {
    wanted.take_host_memory(output.bytes);
  } else if (output.bytes != 0) {
    std::shared_ptr<void> owner;
    void* const data = allocate(output.bytes, allocator, owner);
    wanted.take(data, output.bytes, std::move(owner));
  }
  wanted.describe(output, on_host);
}

// Finds the program for a run, gives outputs memory where they have none, and makes the task.
std::unique_ptr<RunTask> prepare(AddedGraph& graph, RunTensors inputs, const std::vector<Wanted*>& outputs,
                                 bool on_host, const std::shared_ptr<ge::Allocator>& allocator) {
  std::shared_ptr<const Program> program = graph.program(inputs);
  const std::vector<Answer::Output>& computed = program->outputs();
  require(outputs.size() == computed.size(), kFailed, "the graph has ", computed.size(), " outputs, but there are ",
          outputs.size(), " tensors for them");
  RunTensors results;
  for (size_t i = 0; i < computed.size(); ++i) {
    give_memory(*outputs[i], computed[i], i, on_host, allocator);
    results.add_output(computed[i], outputs[i]->data());
  }
  return std::make_unique<RunTask>(std::move(program), std::move(inputs), std::move(results));
}

}  // namespace

void run(AddedGraph& graph, RunTensors inputs, const std::vector<Wanted*>& outputs) {
  const auto task = prepare(graph, std::move(inputs), outputs, /*on_host=*/true, nullptr);
  const LaunchStream launches(nullptr);
  task->run();
}

void start(void* handle, AddedGraph& graph, RunTensors inputs, const std::vector<Wanted*>& outputs,
           const std::shared_ptr<ge::Allocator>& allocator) {
  const std::shared_ptr<Stream> stream = stream_of(handle);
  auto task = prepare(graph, std::move(inputs), outputs, /*on_host=*/false, allocator);
  if (task->launches() && stream->sink() == nullptr) {
    synchronize(*stream, std::nullopt);
    const LaunchStream launches(handle);
    task->run();
    return;
  }
  stream->submit(std::move(task));
  const bool any_on_host = std::any_of(outputs.begin(), outputs.end(), [](const Wanted* wanted) {
    return wanted->data() != nullptr && !memory::is_device_address(wanted->data());
  });
  if (!any_on_host) return;
  stream->wait(std::nullopt);
  if (const auto failure = stream->take_failure()) fail(failure->code, failure->text);
}

}  // namespace opwright::graph_engine
