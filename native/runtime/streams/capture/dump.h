// native/runtime/streams/capture/dump.h
// A captured graph as text: what aclmdlRIDebugJsonPrint and aclmdlRIDebugPrint give, and OPWRIGHT_GRAPH_DUMP=FOLDER for
// each capture that ends. The form is described in opwright/graph_report/captured/read.py, which reads it.
#pragma once

#include <string>

#include "runtime/streams/capture/graph.h"

namespace opwright::dump {

// The JSON: a Chrome trace with one event per node. `verbose` adds arguments and memory.
std::string to_json(Graph& graph, bool verbose);

// Writes the JSON, so that the file is either as before or complete, and for its owner only. Throws 107000 where `path`
// cannot be written.
void write_json(Graph& graph, const std::string& path, bool verbose);

// One line per node on standard error.
void print(Graph& graph);

// Called when a capture has ended. A folder that cannot be written is reported on standard error.
void write_if_wanted(Graph& graph) noexcept;

}  // namespace opwright::dump
