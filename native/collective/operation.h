// native/collective/operation.h
// One call on a communicator, as a task of a stream; and groups of calls (HcclGroupStart).
//
// The sends and receives that a group makes on one communicator and stream are one task, so that they go on at once. It
// is enqueued with the first of them and waits for the end of the group: an event that is recorded after a send, but
// before the group ends, comes after the transfer all the same.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "collective/communicator.h"
#include "runtime/streams/task.h"

namespace opwright::collective {

// A send or receive.
struct Item {
  bool send;
  uint32_t peer;
  HcclDataType type;
  void* data;  // where the host reaches it
  size_t bytes;
};

// A collective has a body, point to point has items.
struct Operation {
  const char* function;  // a string literal
  std::shared_ptr<Communicator> communicator;
  Agreement agreement;
  std::function<void(Exchange&)> body;
  std::vector<Item> items;
  std::vector<MemoryRange> ranges;
};

void submit(Operation operation, const std::shared_ptr<Stream>& stream);

OPWRIGHT_API void begin_group();
OPWRIGHT_API void end_group();

}  // namespace opwright::collective
