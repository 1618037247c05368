// native/runtime/streams/flag_task.h
// A task that sets, waits for or clears a flag.
#pragma once

#include <utility>
#include <vector>

#include "runtime/order/flags.h"
#include "runtime/streams/task.h"

namespace opwright {

template <class Body>
class FlagTask final : public Task {
 public:
  FlagTask(const char* name, Body body, order::FlagUse use, std::vector<MemoryRange> ranges)
      : name_(name), body_(std::move(body)), use_(use), ranges_(std::move(ranges)) {}
  void run() override { body_(); }
  const char* name() const noexcept override { return name_; }
  bool is_bookkeeping() const noexcept override { return true; }
  std::vector<MemoryRange> memory_ranges() override { return ranges_; }
  const order::FlagUse* flag_use() const noexcept override { return &use_; }

 private:
  const char* const name_;  // a string literal
  const Body body_;
  const order::FlagUse use_;
  const std::vector<MemoryRange> ranges_;
};

template <class Body>
TaskPtr make_flag_task(const char* name, Body body, order::FlagUse use, std::vector<MemoryRange> ranges = {}) {
  return std::make_unique<FlagTask<Body>>(name, std::move(body), use, std::move(ranges));
}

}  // namespace opwright
