// native/collective/operation.cpp
#include "collective/operation.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>

#include "collective/entry_order.h"
#include "runtime/explore/explore.h"
#include "runtime/settings.h"
#include "runtime/trace.h"

namespace opwright::collective {
namespace {

// The sends and receives of one task. Those of a group are added until the group ends.
class Batch {
 public:
  Batch(std::vector<Item> items, bool complete) : items_(std::move(items)), complete_(complete) {}

  void add(const std::vector<Item>& items) {
    const std::lock_guard<std::mutex> lock(mutex_);
    items_.insert(items_.end(), items.begin(), items.end());
  }
  void complete() { end(/*given_up=*/false); }
  void give_up() { end(/*given_up=*/true); }

  // Waits for the end of the group. Null if it was given up.
  const std::vector<Item>* items(const Communicator& communicator) {
    constexpr std::chrono::milliseconds kSlice(100);  // between two looks at the communicator
    std::unique_lock<std::mutex> lock(mutex_);
    while (!changed_.wait_for(lock, kSlice, [&] { return complete_; })) communicator.require_usable();
    return given_up_ ? nullptr : &items_;
  }

 private:
  void end(bool given_up) {
    const std::lock_guard<std::mutex> lock(mutex_);
    complete_ = true;
    given_up_ = given_up;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Item> items_;
  bool complete_;
  bool given_up_ = false;
};

class OperationTask final : public Task {
 public:
  OperationTask(Operation operation, std::shared_ptr<Batch> batch)
      : operation_(std::move(operation)), batch_(std::move(batch)) {}

  void run() override {
    Communicator& communicator = *operation_.communicator;
    const explore::Outside outside([&] {
      return text("the other ranks of communicator '", communicator.name(), "', of which this one is ",
                  communicator.rank());
    });
    if (operation_.body) return communicator.run(operation_.agreement, operation_.body);
    const std::vector<Item>* const items = batch_->items(communicator);
    communicator.run(operation_.agreement, [&](Exchange& exchange) {
      require(items != nullptr, HCCL_E_PARA, "the thread that called HcclGroupStart has ended without HcclGroupEnd");
      transfer(exchange, *items);
    });
  }
  const char* name() const noexcept override { return operation_.function; }
  std::string trace_args() const override {
    const Communicator& communicator = *operation_.communicator;
    return text("\"communicator\":", trace::quote(communicator.name()), ",\"rank\":", communicator.rank(),
                ",\"ranks\":", communicator.size());
  }
  std::vector<MemoryRange> memory_ranges() override { return operation_.ranges; }

 private:
  static Agreement agreement_of(const Item& item) {
    return {Call::kPointToPoint, item.type, Agreement::kNone, Agreement::kNone, 0};
  }

  static void transfer(Exchange& exchange, const std::vector<Item>& items) {
    std::vector<const Item*> to_self;
    std::vector<const Item*> from_self;
    for (const Item& item : items) {
      if (item.peer == exchange.rank()) {
        (item.send ? to_self : from_self).push_back(&item);
      } else if (item.send) {
        exchange.send(item.peer, agreement_of(item), item.data, item.bytes);
      } else {
        exchange.receive(item.peer, agreement_of(item), item.data, item.bytes);
      }
    }
    require(to_self.size() == from_self.size(), HCCL_E_PARA, "rank ", exchange.rank(), " sends ", to_self.size(),
            " and receives ", from_self.size(), " tensor(s) to and from itself; a send to the own rank needs its ",
            "receive in the same batch or group");
    for (size_t i = 0; i < to_self.size(); ++i) {
      require(to_self[i]->bytes == from_self[i]->bytes, HCCL_E_PARA, "rank ", exchange.rank(), " sends ",
              to_self[i]->bytes, " bytes to itself and receives ", from_self[i]->bytes);
      if (to_self[i]->bytes > 0) std::memmove(from_self[i]->data, to_self[i]->data, to_self[i]->bytes);
    }
    exchange.finish();
  }

  const Operation operation_;
  const std::shared_ptr<Batch> batch_;
};

void enqueue(Operation operation, std::shared_ptr<Batch> batch, const std::shared_ptr<Stream>& stream) {
  operation.communicator->used_by(stream);
  stream->submit(std::make_unique<OperationTask>(std::move(operation), std::move(batch)));
}

// The sends and receives of a group on one communicator and stream.
struct Transfers {
  Operation operation;
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Batch> batch;
  bool enqueued;
};

// Of a thread. What the thread leaves open fails, so that nobody waits for it.
struct Group {
  ~Group() {
    for (const Transfers& transfers : open) transfers.batch->give_up();
  }

  int depth = 0;
  std::vector<Transfers> open;
};

Group& group() {
  thread_local Group instance;
  return instance;
}

void add_to_group(Operation operation, const std::shared_ptr<Stream>& stream) {
  for (Transfers& known : group().open) {
    if (known.stream != stream || known.operation.communicator != operation.communicator) continue;
    known.batch->add(operation.items);
    auto& ranges = known.operation.ranges;
    ranges.insert(ranges.end(), operation.ranges.begin(), operation.ranges.end());
    return;
  }
  auto batch = std::make_shared<Batch>(operation.items, /*complete=*/false);
  // In sync mode the task would wait in this thread; a capture looks at once at what a task touches.
  const bool enqueued = !settings().sync && stream->sink() == nullptr;
  if (enqueued) enqueue(operation, batch, stream);
  group().open.push_back({std::move(operation), stream, std::move(batch), enqueued});
}

}  // namespace

void submit(Operation operation, const std::shared_ptr<Stream>& stream) {
  operation.communicator->require_usable();
  if (operation.body) note_entry(*operation.communicator, operation.function, *stream);
  if (!operation.body && group().depth > 0) return add_to_group(std::move(operation), stream);
  auto batch = operation.body ? nullptr : std::make_shared<Batch>(std::move(operation.items), /*complete=*/true);
  enqueue(std::move(operation), std::move(batch), stream);
}

void begin_group() { ++group().depth; }

void end_group() {
  require(group().depth > 0, HCCL_E_PARA, "no group has been started on this thread; call HcclGroupStart first");
  if (--group().depth > 0) return;
  std::vector<Transfers> ended = std::exchange(group().open, {});
  for (const Transfers& transfers : ended) transfers.batch->complete();
  std::exception_ptr first;  // the others go on: peers wait for them
  for (Transfers& transfers : ended) {
    if (transfers.enqueued) continue;
    try {
      enqueue(std::move(transfers.operation), transfers.batch, transfers.stream);
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace opwright::collective
