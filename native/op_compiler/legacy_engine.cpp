// native/op_compiler/legacy_engine.cpp
#include "op_compiler/legacy_engine.h"

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "runtime/device.h"
#include "runtime/gil.h"
#include "runtime/python.h"

namespace opwright::legacy {
namespace {

Functions registered;
std::atomic<bool> is_registered{false};

const Functions& functions(const char* type) {
  if (!is_registered.load()) {
    const bool python = call_python("opwright.engine.legacy_bridge", "connect", "", ACL_ERROR_INTERNAL_ERROR,
                                    "the engine of legacy operators cannot start: ");
    require(python, ACL_ERROR_INTERNAL_ERROR, "legacy operator '", type,
            "' is computed by the graph engine, which is written in Python, and this process runs none");
    require(is_registered.load(), ACL_ERROR_INTERNAL_ERROR, "the engine of legacy operators has not registered itself");
  }
  return registered;
}

void check(const Answer& answer) {
  if (answer.failure) fail(answer.code, *answer.failure);
}

// Programs by description. They are small, and a process has as many as its models have distinct calls.
struct Programs {
  std::shared_mutex mutex;
  std::unordered_map<std::string, uint64_t> by_description;
};

Programs& programs() {
  static Programs* const instance = new Programs;  // outlives worker threads that end after static destructors
  return *instance;
}

// Held shared by running operators; closing takes it exclusively.
struct Gate {
  std::shared_mutex mutex;
  bool closed = false;
};

Gate& gate() {
  static Gate* const instance = new Gate;
  return *instance;
}

}  // namespace

// No lock is held while Python runs: whoever has the interpreter may want the lock.
uint64_t program_of(const char* type, const std::string& description) {
  {
    const std::shared_lock<std::shared_mutex> lock(programs().mutex);
    const auto it = programs().by_description.find(description);
    if (it != programs().by_description.end()) return it->second;
  }
  Answer answer;
  functions(type).prepare(description.c_str(), &answer);
  check(answer);
  const std::unique_lock<std::shared_mutex> lock(programs().mutex);
  return programs().by_description.emplace(description, answer.program).first->second;
}

int threads() { return registered.threads(); }

std::vector<std::vector<int64_t>> run(uint64_t program, const std::vector<void*>& addresses, int threads,
                                      bool reshape) {
  const std::shared_lock<std::shared_mutex> open(gate().mutex);
  require(!gate().closed, ACL_ERROR_INTERNAL_ERROR,
          "Python has ended before the operator ran; synchronize before the program ends");
  Answer answer;
  registered.run(program, addresses.data(), addresses.size(), threads, reshape ? 1 : 0, &answer);
  check(answer);
  return std::move(answer.shapes);
}

}  // namespace opwright::legacy

using namespace opwright::legacy;  // NOLINT: the twin's side of this interface

void opwright_legacy_register(const Functions* functions) {
  opwright::expect_python_on_workers();
  registered = *functions;
  is_registered.store(true);
}

void opwright_legacy_program(void* answer, uint64_t program) { static_cast<Answer*>(answer)->program = program; }

void opwright_legacy_shape(void* answer, int64_t rank, const int64_t* sizes) {
  static_cast<Answer*>(answer)->shapes.emplace_back(sizes, sizes + rank);
}

void opwright_legacy_fail(void* answer, int code, const char* text) {
  static_cast<Answer*>(answer)->code = code;
  static_cast<Answer*>(answer)->failure = text;
}

void opwright_legacy_close() {
  for (const auto& stream : opwright::streams().all()) stream->wait(std::nullopt);
  const std::unique_lock<std::shared_mutex> closing(gate().mutex);
  gate().closed = true;
}
