// native/runtime/streams/capture/condition.h
// Conditional tasks: a value in device memory decides which body of a captured graph runs, or how often.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "acl/acl_rt_types.h"
#include "runtime/handle.h"
#include "runtime/streams/capture/graph.h"

namespace opwright {

struct Condition {
  // `initial`: what the value becomes at the start of each launch; nullopt leaves it as the last launch did.
  Condition(std::weak_ptr<Graph> owner, std::optional<uint64_t> initial);
  ~Condition();
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  uint64_t read() const;
  void reset() const;

  const std::weak_ptr<Graph> graph;
  const std::optional<uint64_t> initial_value;
  void* const address;  // 8 bytes of device memory

 private:
  const uint64_t serial_;  // of that memory
};

Handles<Condition>& conditions();

// A task that looks at the condition when it runs.
TaskPtr make_condition_task(std::shared_ptr<Condition> condition, aclmdlRICondTaskType type,
                            std::vector<std::shared_ptr<Graph>> bodies);

}  // namespace opwright
