// native/op_compiler/legacy_engine.h
// Legacy operators are computed by the graph engine's kernels, which are Python (opwright/graph_engine/legacy). This is
// how libacl_op_compiler calls them, and how they answer; opwright/graph_engine/legacy_bridge.py is the other half.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error.h"

namespace opwright::legacy {

struct Answer {
  uint64_t program = 0;
  std::vector<std::vector<int64_t>> shapes;  // of the outputs, where the caller asked for them
  int code = ACL_ERROR_INTERNAL_ERROR;
  std::optional<std::string> failure;
};

struct Functions {
  // Answers a program for the operator that a text describes.
  void (*prepare)(const char* description, void* answer);
  // Runs a program. `addresses` are those of the inputs and then the outputs, null where there is nothing. With
  // `reshape` it answers the outputs' shapes, which may be smaller than described.
  void (*run)(uint64_t program, void* const* addresses, uint64_t count, int32_t threads, int32_t reshape, void* answer);
  int (*threads)();
  // Forgets a program.
  void (*drop)(uint64_t program);
};

// A program of the engine, which forgets it when its last owner lets go.
class Program {
 public:
  explicit Program(uint64_t number) : number_(number) {}
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  uint64_t number() const noexcept { return number_; }

 private:
  const uint64_t number_;
};

using ProgramPtr = std::shared_ptr<const Program>;

// The program for a description. The last few thousand are kept.
ProgramPtr program_of(const char* type, const std::string& description);

// The number of threads that ATen has in the calling thread. There has to be a program.
int threads();

// Runs a program; answers the shapes if `reshape` is true. Throws what the kernel could not do.
std::vector<std::vector<int64_t>> run(const Program& program, const std::vector<void*>& addresses, int threads,
                                      bool reshape);

}  // namespace opwright::legacy

extern "C" {

OPWRIGHT_API void opwright_legacy_register(const opwright::legacy::Functions* functions);
OPWRIGHT_API void opwright_legacy_program(void* answer, uint64_t program);
OPWRIGHT_API void opwright_legacy_shape(void* answer, int64_t rank, const int64_t* sizes);
OPWRIGHT_API void opwright_legacy_fail(void* answer, int code, const char* text);
// Waits for all streams; from then on operators fail. Called when Python ends.
OPWRIGHT_API void opwright_legacy_close();
}
