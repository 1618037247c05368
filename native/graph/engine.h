// native/graph/engine.h
// The engine that compiles and runs graphs lives in Python (opwright/engine). This is how libge_runner calls it, and
// how it answers. opwright/engine/bridge.py has the same structures in ctypes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ge/types.h"
#include "runtime/error.h"

namespace opwright::graph {

struct EngineTensor {
  int32_t dtype;    // ge::DataType
  int32_t on_host;  // 1: the values may be looked at when the graph is prepared
  int64_t rank;
  const int64_t* sizes;
  void* data;  // where the host reaches it; null if there are no elements
  uint64_t bytes;
};

// Functions that answer get an Answer as their last argument.
struct Engine {
  void (*compile)(uint64_t graph, const char* model, uint64_t size, const char* options, void* answer);
  // Answers a program for these inputs, and its outputs.
  void (*prepare)(uint64_t graph, const EngineTensor* inputs, uint64_t count, void* answer);
  // `addresses` are those of the inputs and then the outputs.
  void (*run)(uint64_t program, void* const* addresses, uint64_t count, int32_t threads, void* answer);
  void (*remove)(uint64_t graph);
  void (*forget)(uint64_t program);
  int (*threads)();
};

struct Answer {
  struct Output {
    ge::DataType dtype;
    std::vector<int64_t> sizes;
    size_t bytes;
  };
  bool is_static = false;
  uint64_t program = 0;
  std::vector<Output> outputs;
  std::optional<std::string> failure;
};

// Throws if there is no engine: no Python, or the package cannot be imported.
const Engine& engine();
// Throws what the engine could not do.
void check(const Answer& answer);

}  // namespace opwright::graph

extern "C" {

OPWRIGHT_API void opwright_engine_register(const opwright::graph::Engine* engine);
OPWRIGHT_API void opwright_engine_fail(void* answer, const char* text);
OPWRIGHT_API void opwright_engine_static(void* answer, int32_t is_static);
OPWRIGHT_API void opwright_engine_program(void* answer, uint64_t program);
OPWRIGHT_API void opwright_engine_output(void* answer, int32_t dtype, int64_t rank, const int64_t* sizes,
                                         uint64_t bytes);
}
