// native/runtime/streams/capture/condition.cpp
#include "runtime/streams/capture/condition.h"

#include <atomic>

#include "runtime/memory/memory.h"
#include "runtime/streams/capture/replay.h"

namespace opwright {
namespace {

std::atomic<uint64_t>& value_of(const Condition& condition) {
  return *static_cast<std::atomic<uint64_t>*>(memory::alias_of(condition.address));
}

class ConditionTask final : public Task {
 public:
  ConditionTask(std::shared_ptr<Condition> condition, aclmdlRICondTaskType type,
                std::vector<std::shared_ptr<Graph>> bodies)
      : condition_(std::move(condition)), type_(type), bodies_(std::move(bodies)) {}

  void run() override {
    switch (type_) {
      case ACL_MODEL_RI_COND_TYPE_IF: {
        const size_t body = condition_->read() != 0 ? 0 : 1;
        if (body < bodies_.size()) run_graph(*bodies_[body]);
        return;
      }
      case ACL_MODEL_RI_COND_TYPE_WHILE:
        while (condition_->read() != 0) run_graph(*bodies_[0]);
        return;
      case ACL_MODEL_RI_COND_TYPE_SWITCH:
        if (const uint64_t body = condition_->read(); body < bodies_.size()) run_graph(*bodies_[body]);
        return;
    }
  }

  const char* name() const noexcept override { return "aclmdlRIAddCondTask"; }

  std::string trace_args() const override {
    constexpr const char* kTypes[] = {"if", "while", "switch"};
    std::string bodies;
    for (const auto& body : bodies_) bodies += text(bodies.empty() ? "graph " : ", graph ", body->id());
    return text("\"type\":\"", kTypes[type_], "\",\"bodies\":\"", bodies, "\"");
  }

  std::vector<MemoryRange> memory_ranges() override {
    return {{condition_->address, sizeof(uint64_t), /*read=*/true, /*written=*/false, "condition"}};
  }

 private:
  const std::shared_ptr<Condition> condition_;
  const aclmdlRICondTaskType type_;
  const std::vector<std::shared_ptr<Graph>> bodies_;
};

}  // namespace

Condition::Condition(std::weak_ptr<Graph> owner, std::optional<uint64_t> initial)
    : graph(std::move(owner)),
      initial_value(initial),
      address(memory::allocate(graph.lock()->device(), sizeof(uint64_t))),
      serial_(memory::serial_of(address)) {
  value_of(*this).store(initial.value_or(0));
}

Condition::~Condition() {
  // A device that was reset has freed all its memory, and may have given the address to somebody else.
  if (memory::serial_of(address) == serial_) memory::release(address);
}

uint64_t Condition::read() const { return value_of(*this).load(std::memory_order_acquire); }

void Condition::reset() const {
  if (initial_value) value_of(*this).store(*initial_value, std::memory_order_release);
}

Handles<Condition>& conditions() {
  static auto* const instance = new Handles<Condition>("condition", ACL_ERROR_RT_PARAM_INVALID);
  return *instance;
}

TaskPtr make_condition_task(std::shared_ptr<Condition> condition, aclmdlRICondTaskType type,
                            std::vector<std::shared_ptr<Graph>> bodies) {
  return std::make_unique<ConditionTask>(std::move(condition), type, std::move(bodies));
}

}  // namespace opwright
