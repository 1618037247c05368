// native/op_compiler/legacy_engine.cpp
#include "op_compiler/legacy_engine.h"

#include <atomic>
#include <iterator>
#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "runtime/gil.h"
#include "runtime/python.h"

namespace opwright::legacy {
namespace {

Functions registered;
std::atomic<bool> is_registered{false};

const Functions& functions(const char* type) {
  if (!is_registered.load()) {
    const bool python = call_python("opwright.graph_engine.legacy_bridge", "connect", "", ACL_ERROR_INTERNAL_ERROR,
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

// Programs by description. A model has hundreds of distinct calls, but sequences of all lengths make ever new ones: the
// program that was not used for the longest time goes.
class Programs {
 public:
  ProgramPtr find(const std::string& description) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = places_.find(description);
    if (it == places_.end()) return nullptr;
    by_use_.splice(by_use_.begin(), by_use_, it->second);
    return it->second->second;
  }

  // The one that is kept: another thread may have made it meanwhile.
  ProgramPtr add(const std::string& description, ProgramPtr program) {
    std::list<Entry> dropped;  // goes when the lock is free, as it calls Python
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = places_.find(description);
    if (it != places_.end()) return it->second->second;
    by_use_.emplace_front(description, program);
    places_.emplace(description, by_use_.begin());
    if (by_use_.size() > kMost) {
      places_.erase(by_use_.back().first);
      dropped.splice(dropped.begin(), by_use_, std::prev(by_use_.end()));
    }
    return program;
  }

 private:
  using Entry = std::pair<std::string, ProgramPtr>;
  static constexpr size_t kMost = 4096;  // a few kilobytes each

  std::mutex mutex_;
  std::list<Entry> by_use_;  // the last one first
  std::unordered_map<std::string, std::list<Entry>::iterator> places_;
};

Programs& programs() {
  static Programs* const instance = new Programs;  // outlives worker threads that end after static destructors
  return *instance;
}

PythonGate& gate() {
  static PythonGate* const instance = new PythonGate;
  return *instance;
}

}  // namespace

// No lock is held while Python runs: whoever has the interpreter may want the lock.
ProgramPtr program_of(const char* type, const std::string& description) {
  if (auto known = programs().find(description)) return known;
  Answer answer;
  functions(type).prepare(description.c_str(), &answer);
  check(answer);
  return programs().add(description, std::make_shared<const Program>(answer.program));
}

Program::~Program() {
  if (const auto open = gate().try_pass()) registered.drop(number_);
}

int threads() { return registered.threads(); }

std::vector<std::vector<int64_t>> run(const Program& program, const std::vector<void*>& addresses, int threads,
                                      bool reshape) {
  const auto open = gate().pass(ACL_ERROR_INTERNAL_ERROR);
  Answer answer;
  registered.run(program.number(), addresses.data(), addresses.size(), threads, reshape ? 1 : 0, &answer);
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

void opwright_legacy_close() { gate().close(); }
