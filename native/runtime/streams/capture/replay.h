// native/runtime/streams/capture/replay.h
// Launches of a captured graph.
#pragma once

#include <memory>

#include "runtime/streams/capture/graph.h"
#include "runtime/streams/stream.h"

namespace opwright {

// Enqueues one launch. Returns at once; the launch keeps the graph alive.
void launch(const std::shared_ptr<Graph>& graph, Stream& stream);

// Runs the graph on the calling thread and, if streams were forked in the capture, on workers; returns when all is
// done. Throws the first failure, whose text starts with the task's name.
void run_graph(Graph& graph);

}  // namespace opwright
