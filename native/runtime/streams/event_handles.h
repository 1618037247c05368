// native/runtime/streams/event_handles.h
// The handles of events. They are numbers, no addresses: a handle is never given out twice, so one that was destroyed
// cannot come to mean another event.
//
// The record of a destroyed event counts until it has happened. CANN allows an event to be destroyed before it is
// complete; it keeps the event until the records and waits that it was given have completed (page of
// aclrtDestroyEvent, CANN 8.0; Event::TryFreeEventIdAndCheckCanBeDelete in its public runtime), but a call that comes
// with the handle later is the caller's mistake. torch_npu makes it: each device has a task queue with a thread of its
// own, the wait for an event is in the queue of the stream that waits (LaunchWaitEventTask), its destruction in the
// queue of the device that recorded it (LaunchLazyDestroyEventTask), and unless there is a queue for each stream
// nothing orders the two. So the wait can arrive after a destruction that follows it in the program. The record cannot:
// it is in the same queue as the destruction, before it.
#pragma once

#include <map>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "runtime/error.h"
#include "runtime/streams/event.h"

namespace opwright {

class EventHandles {
 public:
  void* add(std::shared_ptr<Event> event);

  // Throws 107000 for a handle that was destroyed, or that this runtime has not given out.
  std::shared_ptr<Event> find(const void* handle) const;

  // Also finds a destroyed event, as long as something that it has recorded is pending; nullptr after that. Throws
  // 107000 for a handle that this runtime has not given out, and for an event that was destroyed without a record: no
  // order of the queues makes a wait for it right.
  std::shared_ptr<Event> find_pending(const void* handle) const;

  // Throws as `find` does.
  void destroy(const void* handle);

  // ACL ends, and nobody records any more: ends the waits for first records that have been made so far. The events
  // live on, and can be recorded when ACL has begun again.
  void end_waits();

 private:
  static constexpr size_t kLeastThreshold = 64;

  using Events = std::unordered_map<const void*, std::shared_ptr<Event>>;

  void forget_finished();
  void note_unrecorded(uintptr_t number);
  bool was_unrecorded(uintptr_t number) const;

  mutable std::shared_mutex mutex_;
  uintptr_t given_out_ = 0;
  Events live_;
  Events destroyed_;  // with something pending when they were last looked at
  size_t prune_threshold_ = kLeastThreshold;
  std::map<uintptr_t, uintptr_t> unrecorded_;  // destroyed without a record: ranges of numbers, first to one past last
};

}  // namespace opwright
