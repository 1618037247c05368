// native/runtime/streams/event_handles.cpp
#include "runtime/streams/event_handles.h"

#include <algorithm>
#include <iterator>
#include <mutex>

namespace opwright {
namespace {

// Handles lie where no process has addresses, so that no pointer is taken for one.
constexpr uintptr_t kFirst = uintptr_t{1} << 56;
constexpr uintptr_t kStep = 16;

[[noreturn]] void reject(const void* handle, const char* why) {
  fail(ACL_ERROR_RT_PARAM_INVALID, "event ", handle, " does not exist (", why, ")");
}

uintptr_t number_of(const void* handle) { return (reinterpret_cast<uintptr_t>(handle) - kFirst) / kStep; }

bool was_given_out(const void* handle, uintptr_t count) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(handle) - kFirst;
  return offset % kStep == 0 && offset / kStep < count;
}

}  // namespace

void* EventHandles::add(std::shared_ptr<Event> event) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  void* const handle = reinterpret_cast<void*>(kFirst + kStep * given_out_);
  live_[handle] = std::move(event);
  ++given_out_;
  return handle;
}

std::shared_ptr<Event> EventHandles::find(const void* handle) const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  const auto it = live_.find(handle);
  if (it != live_.end()) return it->second;
  reject(handle, was_given_out(handle, given_out_) ? "it was destroyed" : "not created by this runtime");
}

std::shared_ptr<Event> EventHandles::find_pending(const void* handle) const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  for (const Events* events : {&live_, &destroyed_}) {
    const auto it = events->find(handle);
    if (it != events->end()) return it->second;
  }
  if (!was_given_out(handle, given_out_)) reject(handle, "not created by this runtime");
  if (was_unrecorded(number_of(handle))) reject(handle, "it was destroyed, and nothing was ever recorded in it");
  return nullptr;
}

void EventHandles::destroy(const void* handle) {
  const std::shared_ptr<Event> event = find(handle);
  event->note_destruction();
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  if (live_.erase(handle) == 0) reject(handle, "it was destroyed");  // by another thread, just now
  if (!event->ever_recorded()) return note_unrecorded(number_of(handle));
  if (!event->pending()) return;
  destroyed_[handle] = event;
  if (destroyed_.size() >= prune_threshold_) forget_finished();
}

void EventHandles::end_waits() {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  for (const auto& [handle, event] : live_) event->end_waits();
}

// The caller holds the mutex. Numbers follow each other, so that a program that records nothing costs one range.
void EventHandles::note_unrecorded(uintptr_t number) {
  uintptr_t first = number;
  uintptr_t end = number + 1;
  auto next = unrecorded_.upper_bound(number);
  if (next != unrecorded_.end() && next->first == end) {
    end = next->second;
    next = unrecorded_.erase(next);
  }
  if (next != unrecorded_.begin() && std::prev(next)->second == first) first = std::prev(next)->first;
  unrecorded_[first] = end;
}

// The caller holds the mutex.
bool EventHandles::was_unrecorded(uintptr_t number) const {
  const auto after = unrecorded_.upper_bound(number);
  return after != unrecorded_.begin() && number < std::prev(after)->second;
}

// The caller holds the mutex. Looking at all of them costs each destruction the same on average, because there are
// twice as many before the next time.
void EventHandles::forget_finished() {
  for (auto it = destroyed_.begin(); it != destroyed_.end();) {
    it = it->second->pending() ? std::next(it) : destroyed_.erase(it);
  }
  prune_threshold_ = std::max(kLeastThreshold, 2 * destroyed_.size());
}

}  // namespace opwright
