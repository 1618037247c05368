// native/collective/link.cpp
#include "collective/link.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/error.h"
#include "runtime/memory/memory.h"

namespace opwright::collective {
namespace {

constexpr size_t kLongestReason = 1 << 16;

}  // namespace

void Link::send(Kind kind, const Agreement& agreement, const void* data, size_t bytes) {
  outgoing_.push_back({{kind, agreement, bytes}, static_cast<const char*>(data), 0});
}

void Link::receive(const Receive& receive) {
  expected_.push_back(receive);
  match();
}

void Link::advance() {
  write_some();
  while (!idle() && !ended_ && read_some()) {  // what comes later is left to the next exchange
  }
  if (ended_ && !idle()) fail_gone();
}

void Link::write_some() {
  while (!outgoing_.empty() && !unwritable_) {
    Outgoing& next = outgoing_.front();
    iovec parts[2];
    int count = 0;
    size_t done = next.written;
    if (done < sizeof(Header)) {
      parts[count++] = {reinterpret_cast<char*>(&next.header) + done, sizeof(Header) - done};
      done = sizeof(Header);
    }
    const size_t data_done = done - sizeof(Header);
    if (data_done < next.header.bytes) {
      parts[count++] = {const_cast<char*>(next.data) + data_done, next.header.bytes - data_done};
    }
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = static_cast<size_t>(count);
    const ssize_t written = sendmsg(fd_.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written < 0) {
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) unwritable_ = true;
      return;
    }
    next.written += static_cast<size_t>(written);
    if (next.written == sizeof(Header) + next.header.bytes) outgoing_.pop_front();
  }
}

// True if it has read something.
bool Link::read_some() {
  char* target;
  size_t left;
  if (read_ < sizeof(Header)) {
    target = reinterpret_cast<char*>(&incoming_) + read_;
    left = sizeof(Header) - read_;
  } else {
    target = target_ + (read_ - sizeof(Header));
    left = sizeof(Header) + incoming_.bytes - read_;
  }
  const ssize_t count = recv(fd_.number(), target, left, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return false;
  if (count <= 0) {
    ended_ = true;
    return false;
  }
  const bool was_header = read_ < sizeof(Header);
  read_ += static_cast<size_t>(count);
  if (was_header && read_ == sizeof(Header)) begin_message();
  if (read_ >= sizeof(Header) && read_ == sizeof(Header) + incoming_.bytes) finish_message();
  return true;
}

void Link::begin_message() {
  require_possible(incoming_);
  direct_ = incoming_.kind == Kind::kData && !expected_.empty();
  if (direct_) {
    require_expected(incoming_);
    target_ = static_cast<char*>(expected_.front().target);
    return;
  }
  buffer_.resize(incoming_.bytes);
  target_ = buffer_.data();
}

void Link::finish_message() {
  read_ = 0;
  switch (incoming_.kind) {
    case Kind::kData:
      if (direct_) {
        expected_.pop_front();
        return;
      }
      early_.push_back({incoming_, std::move(buffer_)});
      buffer_.clear();
      return match();
    case Kind::kFarewell:
      farewell_ = true;
      return;
    case Kind::kFailure:
      fail(HCCL_E_REMOTE, "rank ", peer_,
           " has given the communicator up: ", std::string(buffer_.begin(), buffer_.end()));
  }
}

// Before anything of it is used: `bytes` are the size of a buffer, and a text of the agreement has its call.
void Link::require_possible(const Header& header) const {
  const bool is_data = header.kind == Kind::kData && exists(header.agreement.call);
  const bool is_end = header.kind == Kind::kFarewell || header.kind == Kind::kFailure;
  // Nobody can receive more than a device has.
  if ((is_data && header.bytes <= memory::total_bytes()) || (is_end && header.bytes <= kLongestReason)) return;
  fail(HCCL_E_INTERNAL, "what rank ", peer_, " wrote is not a message of this library; do all ranks use one version?");
}

void Link::match() {
  while (!early_.empty() && !expected_.empty()) {
    const Early& first = early_.front();
    require_expected(first.header);
    if (!first.data.empty()) std::memcpy(expected_.front().target, first.data.data(), first.data.size());
    early_.pop_front();
    expected_.pop_front();
  }
}

void Link::require_expected(const Header& header) const {
  const Receive& expected = expected_.front();
  if (!(header.agreement == expected.agreement)) {
    fail(HCCL_E_PARA, "rank ", peer_, " calls ", header.agreement.shown(), ", but this rank ",
         expected.agreement.shown(), "; all ranks have to make the same calls in the same order");
  }
  if (header.bytes != expected.bytes) {
    fail(HCCL_E_PARA, "rank ", peer_, " sends ", header.bytes, " bytes, but this rank expects ", expected.bytes,
         " bytes from it (", expected.agreement.shown(), "); the counts of the ranks do not fit");
  }
}

void Link::fail_gone() const {
  if (farewell_) {
    fail(HCCL_E_REMOTE, "rank ", peer_, " has destroyed its communicator and does not take part any more");
  }
  fail(HCCL_E_REMOTE, "rank ", peer_, " is gone: its process has ended without destroying the communicator");
}

void Link::end(Kind kind, const std::string& reason) noexcept {
  if (!fd_.open()) return;
  const bool between = outgoing_.empty() || outgoing_.front().written == 0;
  if (between && !unwritable_) {
    // One call: it is short, and a peer that reads nothing does not learn the reason.
    Header header{kind, {}, std::min(reason.size(), kLongestReason)};
    iovec parts[2] = {{&header, sizeof(header)}, {const_cast<char*>(reason.data()), header.bytes}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = reason.empty() ? 1 : 2;
    (void)sendmsg(fd_.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  shutdown(fd_.number(), SHUT_WR);
}

}  // namespace opwright::collective
