// native/runtime/streams/host_task.h
// A task that calls a function of the host's.
#pragma once

#include <utility>

#include "runtime/order/order.h"
#include "runtime/streams/task.h"

namespace opwright {

// `body` gets the place of the function in the program's order, which what it calls belongs to.
template <class Body>
class HostTask final : public Task {
 public:
  HostTask(const char* name, Body body) : name_(name), body_(std::move(body)) {}
  void run() override { body_(function_.begin_call()); }
  const char* name() const noexcept override { return name_; }
  bool is_bookkeeping() const noexcept override { return true; }
  order::HostFunction* host_function() noexcept override { return &function_; }

 private:
  const char* const name_;  // a string literal
  const Body body_;
  order::HostFunction function_;
};

template <class Body>
TaskPtr make_host_task(const char* name, Body body) {
  return std::make_unique<HostTask<Body>>(name, std::move(body));
}

}  // namespace opwright
