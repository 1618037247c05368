// native/collective/operation.cpp
#include "collective/operation.h"

#include <cstring>
#include <utility>

#include "runtime/trace.h"

namespace opwright::collective {
namespace {

class OperationTask final : public Task {
 public:
  explicit OperationTask(Operation operation) : operation_(std::move(operation)) {}

  void run() override {
    operation_.communicator->run(operation_.agreement, [this](Exchange& exchange) {
      if (operation_.body) operation_.body(exchange);
      if (!operation_.items.empty()) transfer(exchange);
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

  void transfer(Exchange& exchange) {
    std::vector<const Item*> to_self;
    std::vector<const Item*> from_self;
    for (const Item& item : operation_.items) {
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
};

void enqueue(Operation operation, const std::shared_ptr<Stream>& stream) {
  operation.communicator->used_by(stream);
  stream->submit(std::make_unique<OperationTask>(std::move(operation)));
}

struct Held {
  Operation operation;
  std::shared_ptr<Stream> stream;
};

struct Group {
  int depth = 0;
  std::vector<Held> held;
};

Group& group() {
  thread_local Group instance;
  return instance;
}

// Adds the sends and receives to those of the same communicator and stream, if there are any.
bool merge(std::vector<Held>& merged, Held& next) {
  for (Held& known : merged) {
    if (known.stream != next.stream || known.operation.communicator != next.operation.communicator) continue;
    auto& [function, communicator, agreement, body, items, ranges] = known.operation;
    items.insert(items.end(), next.operation.items.begin(), next.operation.items.end());
    ranges.insert(ranges.end(), next.operation.ranges.begin(), next.operation.ranges.end());
    return true;
  }
  return false;
}

}  // namespace

void submit(Operation operation, const std::shared_ptr<Stream>& stream) {
  operation.communicator->require_usable();
  if (group().depth == 0) return enqueue(std::move(operation), stream);
  group().held.push_back({std::move(operation), stream});
}

void begin_group() { ++group().depth; }

void end_group() {
  require(group().depth > 0, HCCL_E_PARA, "no group has been started on this thread; call HcclGroupStart first");
  if (--group().depth > 0) return;
  std::vector<Held> held = std::exchange(group().held, {});
  std::vector<Held> transfers;
  std::vector<Held> collectives;
  for (Held& next : held) {
    if (next.operation.body) {
      collectives.push_back(std::move(next));
    } else if (!merge(transfers, next)) {
      transfers.push_back(std::move(next));
    }
  }
  for (Held& next : transfers) enqueue(std::move(next.operation), next.stream);
  for (Held& next : collectives) enqueue(std::move(next.operation), next.stream);
}

}  // namespace opwright::collective
