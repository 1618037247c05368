// native/graph_engine/prototypes.cpp
#include "graph_engine/prototypes.h"

#include <atomic>
#include <optional>

#include "ge/types.h"
#include "runtime/python.h"

namespace opwright::graph_engine {
namespace {

constexpr int kGraphFailed = static_cast<int>(ge::GRAPH_FAILED);

std::atomic<OpwrightDescribe> registered_prototypes{nullptr};

struct Answer {
  std::shared_ptr<Prototype> prototype;
  std::optional<std::string> failure;
};

Prototype& prototype_of(void* answer) { return *static_cast<Answer*>(answer)->prototype; }

}  // namespace

std::shared_ptr<const Prototype> find_prototype(const char* type) {
  if (type == nullptr) return nullptr;
  if (registered_prototypes.load() == nullptr) {
    const bool python = call_python("opwright.graph_engine.prototype_bridge", "connect", "", kGraphFailed,
                                    "the prototypes of operators cannot be read: ");
    if (!python) return nullptr;
  }
  const OpwrightDescribe describe = registered_prototypes.load();
  require(describe != nullptr, kGraphFailed, "the table of prototypes has not registered itself");
  Answer answer;
  describe(type, &answer);
  if (answer.failure) fail(kGraphFailed, *answer.failure);
  return answer.prototype;
}

}  // namespace opwright::graph_engine

using opwright::graph_engine::Answer;
using opwright::graph_engine::prototype_of;

void opwright_prototypes_register(OpwrightDescribe describe) {
  opwright::graph_engine::registered_prototypes.store(describe);
}

void opwright_prototype_known(void* answer) {
  static_cast<Answer*>(answer)->prototype = std::make_shared<opwright::graph_engine::Prototype>();
}

void opwright_prototype_input(void* answer, const char* name, const char* word) {
  prototype_of(answer).inputs.emplace_back(name, word);
}

void opwright_prototype_output(void* answer, const char* name, const char* word) {
  prototype_of(answer).outputs.emplace_back(name, word);
}

void opwright_prototype_attribute(void* answer, const char* name, const char* word) {
  prototype_of(answer).attributes.emplace_back(name, word);
}

void opwright_prototype_fail(void* answer, const char* text) { static_cast<Answer*>(answer)->failure = text; }
