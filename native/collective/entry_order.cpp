#include "collective/entry_order.h"

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "collective/communicator.h"
#include "runtime/order/findings.h"
#include "runtime/order/order.h"
#include "runtime/order/python_lines.h"

namespace opwright::collective {
namespace {

using Id = uint64_t;  // of a communicator, in all processes
Id id_of(const std::string& identity) { return std::hash<std::string>{}(identity); }

// The launches of one member: the communicators' ids in turn, the last ones of them.
struct Board {
  static constexpr size_t kKept = 1 << 16;

  std::atomic<uint64_t> count;
  std::atomic<Id> entries[kKept];

  // One thread at a time.
  void add(Id id) {
    const uint64_t number = count.load();
    entries[number % kKept].store(id);
    count.store(number + 1);
  }
};

struct Entry {
  Id communicator;
  std::shared_ptr<const order::Launch> launch;
};

// Another member, as far as it has been compared.
struct Peer {
  Board* board = nullptr;       // null if nothing is compared (any more)
  uint64_t position = 0;        // on the board
  std::deque<Entry> unmatched;  // of this member's launches

  // The next one that both members have; the position stays.
  std::optional<Id> next(const std::set<Id>& shared) {
    for (const uint64_t count = board->count.load(); position < count; ++position) {
      if (count - position >= Board::kKept) {  // it may be overwritten while it is read
        board = nullptr;
        return std::nullopt;
      }
      const Id id = board->entries[position % Board::kKept].load();
      if (shared.count(id) != 0) return id;
    }
    return std::nullopt;
  }
};

struct Self {
  memory::SharedFile file{sizeof(Board)};
  Board* const board = static_cast<Board*>(file.map());
  std::set<Id> communicators;
  std::map<Member, Peer> peers;
};

struct State {
  std::mutex mutex;
  std::map<int, Self> selves;  // by device
};

State& state() {
  static State* const instance = new State();  // workers run until the process ends
  return *instance;
}

// A process that is gone has nothing to compare; the collective itself fails and says so.
Board* open_board(const Member& member) {
  try {
    return static_cast<Board*>(memory::SharedFile(member).map());
  } catch (const Error&) {
    return nullptr;
  }
}

struct Difference {
  order::Launch first;
  order::Launch second;
  uint32_t rank;
};

std::optional<Difference> compare(const std::set<Id>& shared, Peer& peer, uint32_t rank) {
  while (peer.board != nullptr && !peer.unmatched.empty()) {
    const std::optional<Id> theirs = peer.next(shared);
    if (!theirs) return std::nullopt;
    if (*theirs == peer.unmatched.front().communicator) {
      peer.unmatched.pop_front();
      ++peer.position;
      continue;
    }
    peer.board = nullptr;  // what follows would differ as well
    for (const Entry& each : peer.unmatched) {
      if (each.communicator == *theirs) return Difference{*peer.unmatched.front().launch, *each.launch, rank};
    }
    std::string second = "a collective of another communicator";
    for (const auto& each : communicators().all()) {
      if (id_of(each->identity()) == *theirs) second = text("a collective of communicator '", each->name(), "'");
    }
    return Difference{*peer.unmatched.front().launch, {-1, -1, 0, 0, second, ""}, rank};
  }
  peer.unmatched.clear();
  return std::nullopt;
}

}  // namespace

Member join_order(const std::string& communicator, int device) {
  if (!order::enabled()) return {};
  const std::lock_guard<std::mutex> lock(state().mutex);
  Self& self = state().selves[device];
  self.communicators.insert(id_of(communicator));
  return self.file.name();
}

void note_entry(const Communicator& communicator, const char* function, const Stream& stream) {
  if (!order::enabled()) return;
  const Id id = id_of(communicator.identity());
  const auto launch = std::make_shared<const order::Launch>(
      order::Launch{stream.device(), stream.id(), 0, 0, text(function, " of communicator '", communicator.name(), "'"),
                    order::python_lines()});
  std::vector<Difference> differences;
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    Self& self = state().selves[communicator.device()];
    self.board->add(id);
    for (uint32_t rank = 0; rank < communicator.size(); ++rank) {
      const Member& member = communicator.member(rank);
      if (member == Member{}) continue;  // this rank itself, or one whose order nobody checks
      const auto [found, added] = self.peers.try_emplace(member);
      Peer& peer = found->second;
      if (added) peer.board = open_board(member);
      peer.unmatched.push_back({id, launch});
      if (auto difference = compare(self.communicators, peer, rank)) differences.push_back(std::move(*difference));
    }
  }
  for (const Difference& each : differences) {
    order::report_entries(each.first, each.second,
                          text("rank ", each.rank, " of communicator '", communicator.name(), "'"));
  }
}

}  // namespace opwright::collective
