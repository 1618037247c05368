// native/graph_engine/engine.h
// The engine that compiles and runs graphs lives in Python (opwright/graph_engine). This is how libge_runner calls it,
// and how it answers. opwright/graph_engine/bridge.py has the same structures in ctypes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ge/types.h"
#include "runtime/error.h"

namespace opwright::graph_engine {

constexpr int kFailed = static_cast<int>(ge::FAILED);

struct EngineTensor {
  int32_t dtype;    // ge::DataType
  int32_t on_host;  // 1: the values may be looked at when the graph is prepared
  int64_t rank;
  const int64_t* sizes;
  void* data;  // where the host reaches it; null if there are no elements
  uint64_t bytes;
};

// Functions that answer get an Answer as their last argument. Options are lines of name=value.
struct Engine {
  // Checks options; `place` is the word for where they were given.
  void (*configure)(const char* place, const char* options, void* answer);
  // `inherited` are the options of engine and session, as they were given.
  void (*compile)(uint64_t graph, uint64_t session, const char* model, uint64_t size, const char* inherited,
                  const char* options, void* answer);
  // Takes the options of the first run.
  void (*load)(uint64_t graph, const char* options, void* answer);
  // Answers a program for these inputs, and its outputs.
  void (*prepare)(uint64_t graph, const EngineTensor* inputs, uint64_t count, void* answer);
  // `addresses` are those of the inputs and then the outputs.
  void (*run)(uint64_t program, void* const* addresses, uint64_t count, int32_t threads, void* answer);
  void (*remove)(uint64_t graph);
  void (*forget)(uint64_t program);
  // The end of a session: its variables go.
  void (*close)(uint64_t session);
  // Answers a text: the graph as "json", or its "streams".
  void (*describe)(uint64_t graph, const char* what, void* answer);
  int (*threads)();
};

struct Answer {
  struct Output {
    ge::DataType dtype;
    std::vector<int64_t> sizes;
    size_t bytes;
  };
  bool is_static = false;       // the outputs, or the largest of them, are known when the graph is compiled
  bool is_fixed = false;        // every run has the same shapes
  bool is_refreshable = false;  // the caller may move the feature memory
  uint64_t output_count = 0;
  uint64_t program = 0;
  bool launches = false;        // the program has operators that launch their work on the stream themselves
  std::vector<size_t> written;  // inputs that the program writes
  std::vector<Output> outputs;
  std::string text;
  std::optional<std::string> failure;
};

// Throws if there is no engine: no Python, or the package cannot be imported.
const Engine& engine();
// Whether the engine can be called: it has been, and Python, if it needs that, still runs.
bool engine_is_there();
// Throws what the engine could not do.
void check(const Answer& answer);
// Throws unless every option is known and can have its value; `place` is the word for where they were given.
void check_options(const char* place, const std::string& options);

}  // namespace opwright::graph_engine

extern "C" {

OPWRIGHT_API void opwright_engine_register(const opwright::graph_engine::Engine* engine);
OPWRIGHT_API void opwright_engine_fail(void* answer, const char* text);
OPWRIGHT_API void opwright_engine_text(void* answer, const char* text);
OPWRIGHT_API void opwright_engine_compiled(void* answer, int32_t is_static, int32_t is_fixed, int32_t is_refreshable,
                                           uint64_t output_count);
OPWRIGHT_API void opwright_engine_program(void* answer, uint64_t program, int32_t launches);
OPWRIGHT_API void opwright_engine_written_input(void* answer, uint64_t index);
OPWRIGHT_API void opwright_engine_output(void* answer, int32_t dtype, int64_t rank, const int64_t* sizes,
                                         uint64_t bytes);
}
