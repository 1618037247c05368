// native/graph_engine/run.h
// Runs of a graph.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "ge/allocator.h"
#include "graph_engine/added_graph.h"
#include "graph_engine/run_tensors.h"
#include "runtime/streams/stream.h"
#include "runtime/streams/task.h"

namespace opwright::graph_engine {

// An output of the caller, whatever kind of tensor it has.
class Wanted {
 public:
  virtual ~Wanted() = default;
  virtual const void* data() const = 0;  // null: it has no memory yet
  virtual size_t bytes() const = 0;
  virtual void take_host_memory(size_t bytes) = 0;
  // Takes memory of the device; it is given back when the owner goes.
  virtual void take(void* data, size_t bytes, std::shared_ptr<void> owner) = 0;
  virtual void describe(const Answer::Output& output, bool on_host) = 0;
};

// Runs a graph at once, on the calling thread. The outputs come in host memory.
void run(AddedGraph& graph, RunTensors inputs, const std::vector<Wanted*>& outputs);

// Enqueues a run on a stream. Outputs in host memory are there when this returns, as nobody would know when they are
// otherwise. A graph whose operators launch their work on the stream themselves runs at once: as a task of the stream
// it would wait for tasks behind it.
void start(void* stream, AddedGraph& graph, RunTensors inputs, const std::vector<Wanted*>& outputs,
           const std::shared_ptr<ge::Allocator>& allocator);

}  // namespace opwright::graph_engine
