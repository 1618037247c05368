// native/collective/communicator.cpp
#include "collective/communicator.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/device.h"
#include "runtime/gil.h"

namespace opwright::collective {
namespace {

constexpr std::chrono::milliseconds kDrain(5000);  // for tasks that are still in their streams at the end
constexpr std::chrono::seconds kLongWait(60);
constexpr int kWaitSlice = 500;  // milliseconds between two looks at the clock

Fd make_event() {
  Fd fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd.open()) fail_call("eventfd");
  return fd;
}

std::deque<Link> make_links(Links links) {
  std::deque<Link> made;
  for (uint32_t peer = 0; peer < links.size(); ++peer) made.emplace_back(std::move(links[peer]), peer);
  return made;
}

}  // namespace

Handles<Communicator>& communicators() {
  static auto* const instance = new Handles<Communicator>("communicator", HCCL_E_PARA);
  return *instance;
}

Communicator::Communicator(std::string identity, std::string name, int device, uint32_t rank, Links links, Limit limit)
    : identity_(std::move(identity)),
      name_(std::move(name)),
      device_(device),
      rank_(rank),
      limit_(limit),
      wake_(make_event()),
      links_(make_links(std::move(links))) {}

Communicator::~Communicator() = default;

void Communicator::begin(Agreement& agreement) {
  require_usable();
  if (agreement.call != Call::kPointToPoint) agreement.number = ++number_;
}

void Communicator::fail(const std::string& place, const Error& error) {
  const std::string reason =
      text(error.text(), " (rank ", rank_, " of ", size(), " of communicator '", name_, "', in ", place, ")");
  for (Link& link : links_) link.end(Kind::kFailure, text("in ", place, ": ", error.text()));
  const std::lock_guard<std::mutex> lock(mutex_);
  failure_ = Error(error.code(), reason);
}

void Communicator::give_up(const std::string& caller, const std::string& reason) {
  const Turn turn = take_turn();
  if (!failure()) fail(caller, Error(HCCL_E_INTERNAL, reason));  // otherwise the others know already
}

std::optional<Error> Communicator::failure() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

void Communicator::require_usable() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (failure_) {
    opwright::fail(failure_->code(), "communicator '", name_,
                   "' has failed before and cannot be used again: ", failure_->text());
  }
  require(!closing_, HCCL_E_PARA, "communicator '", name_, "' has been destroyed");
}

bool Communicator::closing() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return closing_;
}

void Communicator::used_by(const std::shared_ptr<Stream>& stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& known : streams_) {
    if (known.lock() == stream) return;
  }
  streams_.push_back(stream);
}

void Communicator::wake() noexcept {
  const uint64_t one = 1;
  (void)!write(wake_.number(), &one, sizeof(one));
}

void Communicator::destroy() {
  std::vector<std::weak_ptr<Stream>> streams;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_) streams = streams_;
    if (!failure_ && has_operators_) {
      for (const auto& stream : opwright::streams().all()) {
        if (stream->device() == device_) streams.push_back(stream);
      }
    }
  }
  const auto end = std::chrono::steady_clock::now() + kDrain;
  for (const auto& known : streams) {
    const auto stream = known.lock();
    if (stream == nullptr || Stream::current() != nullptr) continue;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    stream->wait(std::max(left, std::chrono::milliseconds(0)));
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  wake();
  const GilRelease released;
  const Turn turn = take_turn();  // a call that waits for another rank gives up at once
  if (failure()) return;          // the others know
  for (Link& link : links_) link.end(Kind::kFarewell, std::string());
}

void Exchange::send(uint32_t peer, const void* data, size_t bytes) { send(peer, agreement_, data, bytes); }
void Exchange::receive(uint32_t peer, void* target, size_t bytes) { receive(peer, agreement_, target, bytes); }

void Exchange::send(uint32_t peer, const Agreement& agreement, const void* data, size_t bytes) {
  communicator_.links_[peer].send(Kind::kData, agreement, data, bytes);
}

void Exchange::receive(uint32_t peer, const Agreement& agreement, void* target, size_t bytes) {
  communicator_.links_[peer].receive({agreement, target, bytes});
}

void Exchange::finish() {
  const auto start = std::chrono::steady_clock::now();
  std::vector<pollfd> entries;
  while (true) {
    entries.assign(1, {communicator_.wake_.number(), POLLIN, 0});
    for (Link& link : communicator_.links_) {
      if (link.idle()) continue;
      link.advance();
      if (link.idle()) continue;
      const int events = (link.readable() ? POLLIN : 0) | (link.wants_write() ? POLLOUT : 0);
      entries.push_back({link.number(), static_cast<short>(events), 0});
    }
    if (entries.size() == 1) return;
    if (communicator_.closing()) {
      fail(HCCL_E_PARA, "the communicator was destroyed while this call waited for rank ", waiting_for());
    }
    if (deadline_.passed()) {
      fail(HCCL_E_TIMEOUT, "rank ", waiting_for(), " did not take part within ", communicator_.limit_->count(),
           " s (HCCL_EXEC_TIMEOUT): it is stuck, or does not make this call");
    }
    if (!reported_ && std::chrono::steady_clock::now() - start > kLongWait) report_long_wait();
    poll(entries.data(), entries.size(), deadline_.left(kWaitSlice));
  }
}

std::string Exchange::waiting_for() const {
  std::string list;
  for (const Link& link : communicator_.links_) {
    if (!link.idle()) list += text(list.empty() ? "" : ", ", link.peer());
  }
  return list;
}

void Exchange::report_long_wait() {
  reported_ = true;
  const std::string line = text("opwright: rank ", rank(), " of communicator '", communicator_.name(), "' has waited ",
                                kLongWait.count(), " s for rank ", waiting_for(), " in ", agreement_.shown(), "\n");
  (void)!write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace opwright::collective
