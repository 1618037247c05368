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

// The function of a launch and the lines of Python that launched it, for the findings of other members.
class LaunchText {
 public:
  // Keeps as many whole lines as fit. One thread at a time.
  void write(uint64_t number, const std::string& text) {
    number_.store(kNone);
    const size_t kept = text.size() < sizeof text_ ? text.size() : text.rfind('\n', sizeof text_ - 1);
    const size_t size = kept == std::string::npos ? 0 : kept;
    for (size_t i = 0; i < size; ++i) text_[i].store(text[i], std::memory_order_release);
    text_[size].store('\0', std::memory_order_release);
    number_.store(number + 1);
  }

  // Empty if they have been overwritten by those of a later launch.
  std::string read(uint64_t number) const {
    if (number_.load() != number + 1) return "";
    std::string text;
    for (const auto& each : text_) {
      const char character = each.load(std::memory_order_acquire);  // a newer one shows in the number below
      if (character == '\0') break;
      text += character;
    }
    return number_.load() == number + 1 ? text : "";
  }

 private:
  static constexpr uint64_t kNone = 0;

  std::atomic<uint64_t> number_;  // of the launch, from 1
  std::atomic<char> text_[1024 - sizeof(uint64_t)];
};

// The launches of one member: the communicators' ids in turn, the last ones of them.
struct Board {
  static constexpr size_t kKept = 1 << 16;
  static constexpr size_t kKeptTexts = 1 << 10;

  std::atomic<uint64_t> count;
  std::atomic<Id> entries[kKept];
  LaunchText words[kKeptTexts];

  // One thread at a time.
  void add(Id id, const std::string& text) {
    const uint64_t number = count.load();
    entries[number % kKept].store(id);
    words[number % kKeptTexts].write(number, text);
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
  std::string lines;  // of the other rank
};

// Of what a board has in words: the function, and behind it the lines of Python.
std::string lines_of(const std::string& words) {
  const size_t end = words.find('\n');
  return end == std::string::npos ? "" : words.substr(end + 1);
}

// A launch of another member, which this one has not come to yet.
std::string describe(Id communicator, const std::string& words) {
  const std::string function = words.empty() ? "a collective" : words.substr(0, words.find('\n'));
  for (const auto& each : communicators().all()) {
    if (id_of(each->identity()) == communicator) return text(function, " of communicator '", each->name(), "'");
  }
  return function + " of another communicator";
}

std::optional<Difference> compare(const std::set<Id>& shared, Peer& peer, uint32_t rank) {
  while (peer.board != nullptr && !peer.unmatched.empty()) {
    const std::optional<Id> theirs = peer.next(shared);
    if (!theirs) return std::nullopt;
    if (*theirs == peer.unmatched.front().communicator) {
      peer.unmatched.pop_front();
      ++peer.position;
      continue;
    }
    const std::string words = peer.board->words[peer.position % Board::kKeptTexts].read(peer.position);
    peer.board = nullptr;  // what follows would differ as well
    const order::Launch& first = *peer.unmatched.front().launch;
    for (const Entry& each : peer.unmatched) {
      if (each.communicator == *theirs) return Difference{first, *each.launch, rank, lines_of(words)};
    }
    return Difference{first, {-1, -1, 0, 0, describe(*theirs, words), ""}, rank, lines_of(words)};
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
    self.board->add(id, text(function, '\n', launch->lines));
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
                          {text("rank ", each.rank, " of communicator '", communicator.name(), "'"), each.lines});
  }
}

}  // namespace opwright::collective
