// native/collective/operation.h
// One call on a communicator, as a task of a stream; and groups of calls (HcclGroupStart), which are held back until
// the group ends.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "collective/communicator.h"
#include "runtime/task.h"

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

// Enqueues, or keeps until the group of this thread ends.
void submit(Operation operation, const std::shared_ptr<Stream>& stream);

OPWRIGHT_API void begin_group();
// All sends and receives of one communicator on one stream go on at once, before its collectives.
OPWRIGHT_API void end_group();

}  // namespace opwright::collective
