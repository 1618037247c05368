// native/graph_engine/engine.cpp
#include "graph_engine/engine.h"

#include <atomic>

#include "runtime/gil.h"
#include "runtime/python.h"

namespace opwright::graph_engine {
namespace {

Engine registered_engine;
std::atomic<bool> is_registered{false};

}  // namespace

const Engine& engine() {
  if (!is_registered.load()) {
    const bool python =
        call_python("opwright.graph_engine.bridge", "connect", "", kFailed, "the graph engine cannot start: ");
    require(python, kFailed, "the graph engine is written in Python, and this process runs none");
    require(is_registered.load(), kFailed, "the graph engine has not registered itself");
  }
  return registered_engine;
}

bool engine_is_there() { return is_registered.load() && !python_has_ended(); }

void check(const Answer& answer) {
  if (answer.failure) fail(kFailed, *answer.failure);
}

void check_options(const char* place, const std::string& options) {
  Answer answer;
  engine().configure(place, options.c_str(), &answer);
  check(answer);
}

}  // namespace opwright::graph_engine

using opwright::graph_engine::Answer;

void opwright_engine_register(const opwright::graph_engine::Engine* engine) {
  opwright::expect_python_on_workers();
  opwright::graph_engine::registered_engine = *engine;
  opwright::graph_engine::is_registered.store(true);
}

void opwright_engine_fail(void* answer, const char* text) { static_cast<Answer*>(answer)->failure = text; }

void opwright_engine_text(void* answer, const char* text) { static_cast<Answer*>(answer)->text = text; }

void opwright_engine_compiled(void* answer, int32_t is_static, int32_t is_fixed, int32_t is_refreshable,
                              uint64_t output_count) {
  auto& result = *static_cast<Answer*>(answer);
  result.is_static = is_static != 0;
  result.is_fixed = is_fixed != 0;
  result.is_refreshable = is_refreshable != 0;
  result.output_count = output_count;
}

void opwright_engine_program(void* answer, uint64_t program, int32_t launches) {
  auto& result = *static_cast<Answer*>(answer);
  result.program = program;
  result.launches = launches != 0;
}

void opwright_engine_written_input(void* answer, uint64_t index) {
  static_cast<Answer*>(answer)->written.push_back(index);
}

void opwright_engine_output(void* answer, int32_t dtype, int64_t rank, const int64_t* sizes, uint64_t bytes) {
  static_cast<Answer*>(answer)->outputs.push_back({static_cast<ge::DataType>(dtype), {sizes, sizes + rank}, bytes});
}
