// native/collective/communicator.h
// A communicator: this rank's links to the others. One call at a time uses them; which one is decided when it starts on
// its stream, so all ranks have to enqueue the calls of one communicator in the same order, as HCCL asks for.
//
// The first error breaks a communicator: the others learn why, and every later call fails with the same reason.
#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "collective/link.h"
#include "collective/rendezvous.h"
#include "runtime/handle.h"
#include "runtime/streams/stream.h"

namespace opwright::collective {

class Exchange;

class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  // `identity` is the same on all ranks and distinguishes this communicator from all others of the machine.
  Communicator(std::string identity, std::string name, int device, uint32_t rank, Links links, Limit limit);
  ~Communicator();

  uint32_t rank() const noexcept { return rank_; }
  uint32_t size() const noexcept { return static_cast<uint32_t>(links_.size()); }
  Member member(uint32_t rank) const noexcept { return links_[rank].member(); }
  const std::string& identity() const noexcept { return identity_; }
  const std::string& name() const noexcept { return name_; }
  // The device of this rank; -1 if none was set when the communicator was made.
  int device() const noexcept { return device_; }

  // While it lives no other thread's call uses the links: for an operator that makes several.
  using Turn = std::unique_lock<std::recursive_mutex>;
  Turn take_turn() { return Turn(running_); }

  // Runs one call on the calling thread: `body` gets an Exchange. A collective gets the next number.
  template <class Body>
  void run(Agreement agreement, Body body);

  // Remembers who uses it: the end waits for these streams.
  void used_by(const std::shared_ptr<Stream>& stream);
  // The same for an operator, of which only the device is known before it runs.
  void used_by_operators() noexcept { has_operators_ = true; }
  // Breaks it for a caller that fails where the other ranks wait for its next call.
  void give_up(const std::string& caller, const std::string& reason);
  // Why it is broken, if it is.
  std::optional<Error> failure() const;
  void require_usable() const;

  // Waits a little for the streams that use it, notifies the other ranks, and ends what still runs.
  void destroy();

  // Ranges that a caller has announced for transfers without copies. They change nothing on the twin.
  void add_range(const void* begin, size_t size);
  void remove_range(const void* begin);
  void require_in_range(const void* begin, size_t size) const;
  void* add_registration(const void* begin, size_t size);
  void remove_registration(void* handle);

 private:
  friend class Exchange;
  void begin(Agreement& agreement);
  void fail(const std::string& place, const Error& error);
  void wake() noexcept;
  bool closing() const;

  const std::string identity_;
  const std::string name_;
  const int device_;
  const uint32_t rank_;
  const Limit limit_;
  const Fd wake_;  // an eventfd, readable from when the communicator is destroyed

  std::recursive_mutex running_;  // the links and number_
  std::atomic<bool> has_operators_{false};
  std::deque<Link> links_;
  uint64_t number_ = 0;

  mutable std::mutex mutex_;  // everything below
  std::optional<Error> failure_;
  bool closing_ = false;
  std::vector<std::weak_ptr<Stream>> streams_;
  std::map<const void*, size_t> ranges_;
  std::set<std::pair<const void*, size_t>> registrations_;
};

// Transfers between this rank and others that go on at the same time.
class Exchange {
 public:
  Exchange(Communicator& communicator, const Agreement& agreement)
      : communicator_(communicator), agreement_(agreement), deadline_(communicator.limit_) {}

  uint32_t rank() const noexcept { return communicator_.rank(); }
  uint32_t size() const noexcept { return communicator_.size(); }
  const Agreement& agreement() const noexcept { return agreement_; }

  void send(uint32_t peer, const void* data, size_t bytes);
  void receive(uint32_t peer, void* target, size_t bytes);
  // For point to point, where each item has a type of its own.
  void send(uint32_t peer, const Agreement& agreement, const void* data, size_t bytes);
  void receive(uint32_t peer, const Agreement& agreement, void* target, size_t bytes);

  // Returns when everything has been sent and received.
  void finish();

 private:
  std::string waiting_for() const;
  void report_long_wait();

  Communicator& communicator_;
  const Agreement agreement_;
  const Deadline deadline_;
  bool reported_ = false;
};

template <class Body>
void Communicator::run(Agreement agreement, Body body) {
  const Turn turn = take_turn();
  begin(agreement);
  Exchange exchange(*this, agreement);
  try {
    body(exchange);
    return;
  } catch (const Error& error) {
    fail(agreement.shown(), error);
  } catch (const std::exception& error) {  // half an exchange: later calls would take its data for theirs
    fail(agreement.shown(), Error(HCCL_E_INTERNAL, error.what()));
  }
  throw *failure();
}

Handles<Communicator>& communicators();

}  // namespace opwright::collective
