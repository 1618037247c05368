// native/runtime/fd.h
// Owns a file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace opwright {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, kNone)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Fd() {
    if (open()) ::close(number_);
  }

  int number() const noexcept { return number_; }
  bool open() const noexcept { return number_ >= 0; }

 private:
  static constexpr int kNone = -1;
  int number_ = kNone;
};

}  // namespace opwright
