// native/collective/link.h
// One end of the connection to another rank: what is being read from it and what waits to be written to it. Never
// blocks; an exchange moves all links of a communicator on at once.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "collective/message.h"
#include "collective/rendezvous.h"
#include "collective/socket.h"

namespace opwright::collective {

struct Receive {
  Agreement agreement;
  void* target;
  size_t bytes;
};

class Link {
 public:
  Link(Connection connection, uint32_t peer)
      : fd_(std::move(connection.socket)), member_(connection.member), peer_(peer) {}

  uint32_t peer() const noexcept { return peer_; }
  Member member() const noexcept { return member_; }
  int number() const noexcept { return fd_.number(); }

  // `data` has to stay as it is until idle().
  void send(Kind kind, const Agreement& agreement, const void* data, size_t bytes);
  // Data that came before anybody asked for them are taken at once.
  void receive(const Receive& receive);

  // Everything asked for has been written and read.
  bool idle() const noexcept { return outgoing_.empty() && expected_.empty(); }
  bool wants_write() const noexcept { return !outgoing_.empty() && !unwritable_; }
  bool readable() const noexcept { return !ended_; }

  // Writes and reads what can be done without waiting. Throws if the peer is gone, is broken, or does something else.
  void advance();

  // Says why this rank is done with the communicator, if the peer is not in the middle of a message.
  void end(Kind kind, const std::string& reason) noexcept;

 private:
  struct Outgoing {
    Header header;
    const char* data;
    size_t written;  // of header and data
  };
  struct Early {
    Header header;
    std::vector<char> data;
  };

  void write_some();
  bool read_some();
  void begin_message();
  void finish_message();
  void match();
  void require_possible(const Header& header) const;
  void require_expected(const Header& header) const;
  [[noreturn]] void fail_gone() const;

  const Fd fd_;
  const Member member_;
  const uint32_t peer_;
  std::deque<Outgoing> outgoing_;
  std::deque<Receive> expected_;
  std::deque<Early> early_;

  Header incoming_{};
  size_t read_ = 0;         // of the incoming header and data
  char* target_ = nullptr;  // where the incoming data go: what is expected, or buffer_
  std::vector<char> buffer_;
  bool direct_ = false;
  bool unwritable_ = false;  // the peer has closed, but may have said why before
  bool ended_ = false;
  bool farewell_ = false;
};

}  // namespace opwright::collective
