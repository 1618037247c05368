// native/collective/socket.h
// Sockets between the processes of this machine: names in Linux's abstract namespace, and connected pairs that are
// handed over to other processes.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "collective/limits.h"

namespace opwright::collective {

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, kNone)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Fd();

  int number() const noexcept { return number_; }
  bool open() const noexcept { return number_ != kNone; }

 private:
  static constexpr int kNone = -1;
  int number_ = kNone;
};

// Throws HCCL_E_SYSCALL with errno's text.
[[noreturn]] void fail_call(const char* what);

std::pair<Fd, Fd> connected_pair();
// Not open if somebody listens at that name already.
Fd listen_at(const std::string& name);
// Not open if nobody listens there.
Fd connect_to(const std::string& name);
Fd accept_from(const Fd& listener);

// False if the other side has closed the connection, or the deadline has passed.
bool write_all(const Fd& fd, const void* data, size_t size, const Deadline& deadline);
bool read_all(const Fd& fd, void* data, size_t size, const Deadline& deadline);

// Hands descriptors over, with one byte for each so that they arrive one by one.
bool hand_over(const Fd& fd, const std::vector<Fd>& descriptors, const Deadline& deadline);
bool take_over(const Fd& fd, std::vector<Fd>& descriptors, const Deadline& deadline);

}  // namespace opwright::collective
