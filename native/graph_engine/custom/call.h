// native/graph_engine/custom/call.h
// How the engine (opwright/graph_engine/calls/launched.py, in ctypes) runs operators that launch their work themselves.
// Types of graph/types.h and of ge/types.h cannot meet in one source, so that this names neither.
#pragma once

#include <cstdint>

#include "runtime/error.h"

extern "C" {

struct OpwrightCustomTensor {
  int32_t dtype;  // ge::DataType
  int64_t rank;
  const int64_t* sizes;
  void* data;  // where the host reaches it
  uint64_t bytes;
};

// Inputs and outputs by the order of the prototype; `counts` says how many tensors each of its entries has.
struct OpwrightCustomCall {
  const char* type;
  const char* name;
  uint64_t input_entries;
  const int64_t* input_counts;
  const OpwrightCustomTensor* inputs;
  uint64_t output_entries;
  const int64_t* output_counts;
  const OpwrightCustomTensor* outputs;
};

// 1 and the text of a prototype that a loaded library declares, valid until the thread asks again; 0 for another type.
// Below zero where it cannot be answered: aclGetRecentErrMsg says why.
OPWRIGHT_API int opwright_custom_prototype(const char* type, const char** text);
// Whether a loaded library has a class for the type; below zero as above.
OPWRIGHT_API int opwright_custom_exists(const char* type);
// Runs the call, and waits until it has run. Null, or what went wrong; valid until the thread runs another.
OPWRIGHT_API const char* opwright_custom_run(const OpwrightCustomCall* call);
}

namespace opwright::graph_engine {

// While it lives, the calling thread runs a graph, whose operators launch their work on `stream`.
class LaunchStream {
 public:
  explicit LaunchStream(void* stream) noexcept;
  ~LaunchStream();
  LaunchStream(const LaunchStream&) = delete;
  LaunchStream& operator=(const LaunchStream&) = delete;

 private:
  void* const outer_;
  const bool was_set_;
};

}  // namespace opwright::graph_engine
