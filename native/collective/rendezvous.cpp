// native/collective/rendezvous.cpp
#include "collective/rendezvous.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <random>
#include <thread>

#include "hccl/hccl_types.h"
#include "runtime/error.h"
#include "runtime/gil.h"

namespace opwright::collective {
namespace {

constexpr uint32_t kMagic = 0x6f706832;  // "oph2"
constexpr int kRendezvousSlice = 200;    // milliseconds between two looks at the clock
constexpr std::chrono::seconds kReply(30);
constexpr std::chrono::milliseconds kRetry(10);
constexpr uint32_t kLongestText = 1 << 16;

struct Join {
  uint32_t magic;
  uint32_t ranks;
  uint32_t rank;
  Member self;
};

struct Guest {
  Fd socket;
  Member member = {};
};

// For each link. What follows: its socket if `code` is HCCL_SUCCESS, otherwise a text of `size` bytes, and the end.
struct Reply {
  int32_t code;
  uint32_t size;
  Member member;  // on the link's other side
};

void require_rank(uint32_t ranks, uint32_t rank) {
  require(ranks >= 1 && ranks <= kMostRanks, HCCL_E_PARA, "a communicator of ", ranks,
          " ranks is not possible; allowed: 1 to ", kMostRanks);
  require(rank < ranks, HCCL_E_PARA, "rank ", rank, " does not exist in a communicator of ", ranks, " ranks");
}

// The side that waits for everybody.
class Host {
 public:
  Host(Fd listener, Limit limit) : listener_(std::move(listener)), deadline_(limit), limit_(limit) {}

  void run() noexcept {
    try {
      while (missing() > 0) step();
      listener_ = Fd();  // the name is free for another round before anybody goes on
      connect_guests();
    } catch (const Error& error) {
      turn_all_away(error);
    } catch (const std::exception& error) {  // as any call answers it: runtime/error.cpp
      turn_all_away(Error(HCCL_E_INTERNAL, error.what()));
    }
  }

 private:
  // Everybody is missing as long as nobody has said how many there are.
  size_t missing() const {
    if (guests_.empty()) return 1;
    size_t count = 0;
    for (const Guest& guest : guests_) count += guest.socket.open() ? 0 : 1;
    return count;
  }

  void step() {
    if (deadline_.passed()) {
      fail(HCCL_E_TIMEOUT, "rank ", names(false), " of ", guests_.size(), " did not call the communicator's ",
           "initialisation within ", limit_->count(), " s (HCCL_CONNECT_TIMEOUT); rank ", names(true), " did");
    }
    std::vector<pollfd> entries{{listener_.number(), POLLIN, 0}};
    for (const Guest& guest : guests_) entries.push_back({guest.socket.number(), POLLIN, 0});  // skips negative ones
    if (poll(entries.data(), entries.size(), deadline_.left(kRendezvousSlice)) <= 0) return;
    for (size_t i = 1; i < entries.size(); ++i) {
      if (entries[i].revents == 0) continue;
      fail(HCCL_E_REMOTE, "the process of rank ", i - 1, " ended while rank ", names(false),
           " had not yet called the communicator's initialisation");
    }
    if (entries[0].revents != 0) admit(accept_from(listener_));
  }

  void admit(Fd socket) {
    Join join{};
    if (!socket.open() || !read_all(socket, &join, sizeof(join), Deadline(kReply)) || join.magic != kMagic) return;
    try {
      require_rank(join.ranks, join.rank);
      if (guests_.empty()) guests_.resize(join.ranks);
      require(join.ranks == guests_.size(), HCCL_E_PARA, "rank ", join.rank, " says that there are ", join.ranks,
              " ranks, others say ", guests_.size());
      require(!guests_[join.rank].socket.open(), HCCL_E_PARA, "two processes say that they are rank ", join.rank);
    } catch (const Error& error) {
      turn_away(socket, error);
      throw;
    }
    guests_[join.rank] = {std::move(socket), join.self};
  }

  // Pair by pair, so that this process needs no more descriptors than it has guests. Each guest gets its links in the
  // order of the peers.
  void connect_guests() const {
    for (size_t low = 0; low < guests_.size(); ++low) {
      for (size_t high = low + 1; high < guests_.size(); ++high) {
        const auto [first, second] = connected_pair();
        give(low, first, guests_[high].member);
        give(high, second, guests_[low].member);
      }
    }
  }

  void give(size_t rank, const Fd& link, Member member) const {
    const Reply reply{HCCL_SUCCESS, 0, member};
    const Deadline soon(kReply);
    const Fd& socket = guests_[rank].socket;
    if (write_all(socket, &reply, sizeof(reply), soon) && hand_over(socket, link, soon)) return;
    fail(HCCL_E_REMOTE, "the process of rank ", rank, " ended, or took nothing, while the ranks were being connected");
  }

  void turn_all_away(const Error& error) const noexcept {
    for (const Guest& guest : guests_) turn_away(guest.socket, error);
  }

  static void turn_away(const Fd& guest, const Error& error) noexcept {
    if (!guest.open()) return;
    const Reply reply{error.code(), static_cast<uint32_t>(error.text().size()), {}};
    const Deadline soon(kReply);
    if (write_all(guest, &reply, sizeof(reply), soon)) write_all(guest, error.text().data(), reply.size, soon);
  }

  std::string names(bool present) const {
    std::string list;
    for (size_t rank = 0; rank < guests_.size(); ++rank) {
      if (guests_[rank].socket.open() == present) list += text(list.empty() ? "" : ", ", rank);
    }
    return list;
  }

  Fd listener_;
  std::vector<Guest> guests_;  // by rank
  const Deadline deadline_;
  const Limit limit_;
};

void host(Fd listener) {
  std::thread([listener = std::move(listener), limit = connect_limit()]() mutable {
    Host(std::move(listener), limit).run();
  }).detach();  // it ends with its deadline at the latest, and touches nothing of the rest of the process
}

// The links, or nothing if the host closed the connection without an answer.
std::optional<Links> join(const Fd& fd, uint32_t ranks, uint32_t rank, Member self) {
  const Join request{kMagic, ranks, rank, self};
  const Limit limit = connect_limit();
  const Deadline deadline(limit ? Limit(*limit + kReply) : Limit());  // the host's own deadline says more
  if (!write_all(fd, &request, sizeof(request), deadline)) return std::nullopt;
  Links links(ranks);
  for (uint32_t peer = 0; peer < ranks; ++peer) {
    if (peer == rank) continue;
    Reply reply{};
    if (!read_all(fd, &reply, sizeof(reply), deadline)) return std::nullopt;
    if (reply.code != HCCL_SUCCESS) {
      std::string message(std::min(reply.size, kLongestText), '\0');
      if (!read_all(fd, message.data(), message.size(), deadline)) return std::nullopt;
      throw Error(reply.code, message);
    }
    links[peer] = {take_over(fd, deadline), reply.member};
    if (!links[peer].socket.open()) return std::nullopt;
  }
  return links;
}

}  // namespace

// A process may get the id of one that has ended, so part of it is random.
std::string new_name(const char* purpose) {
  static std::atomic<uint32_t> count{0};
  return text("opwright-hccl-", purpose, getpid(), "-", count.fetch_add(1), "-", std::random_device{}());
}

std::string open_rendezvous() {
  const std::string name = new_name("");
  Fd listener = listen_at(name);
  require(listener.open(), HCCL_E_INTERNAL, "the socket name '", name, "' is in use");
  host(std::move(listener));
  return name;
}

Links meet(const std::string& name, uint32_t ranks, uint32_t rank, Member self) {
  require_rank(ranks, rank);
  const GilRelease released;
  const Fd fd = connect_to(name);
  require(
      fd.open(), HCCL_E_REMOTE, "nobody waits at '", name,
      "': the process that made the root information has ended, its time is over (HCCL_CONNECT_TIMEOUT), or it runs "
      "on another machine or in another network namespace, which the twin's collectives do not reach");
  auto links = join(fd, ranks, rank, self);
  require(links.has_value(), HCCL_E_REMOTE, "the process that made the root information ended before all of the ",
          ranks, " ranks were connected");
  return std::move(*links);
}

Links meet_at_known_name(const std::string& name, uint32_t ranks, uint32_t rank, Member self) {
  require_rank(ranks, rank);
  const GilRelease released;
  const Deadline deadline(connect_limit());
  while (true) {
    if (Fd listener = listen_at(name); listener.open()) host(std::move(listener));
    // Refused or closed: that host had all its ranks. Another round begins.
    if (const Fd fd = connect_to(name); fd.open()) {
      if (auto links = join(fd, ranks, rank, self)) return std::move(*links);
    }
    require(!deadline.passed(), HCCL_E_TIMEOUT, "the ", ranks, " ranks did not meet at '", name,
            "' within HCCL_CONNECT_TIMEOUT");
    std::this_thread::sleep_for(kRetry);  // nothing shows when an abstract name is free, or has a listener
  }
}

std::vector<Links> connect_all(const std::vector<Member>& members) {
  std::vector<Links> all(members.size());
  for (Links& links : all) links.resize(members.size());
  for (size_t low = 0; low < members.size(); ++low) {
    for (size_t high = low + 1; high < members.size(); ++high) {
      auto [first, second] = connected_pair();
      all[low][high] = {std::move(first), members[high]};
      all[high][low] = {std::move(second), members[low]};
    }
  }
  return all;
}

}  // namespace opwright::collective
