// native/collective/limits.h
// How long ranks wait for each other. HCCL's own environment variables set it; each is read once.
#pragma once

#include <chrono>
#include <optional>

namespace opwright::collective {

using Limit = std::optional<std::chrono::seconds>;  // nullopt: for ever

// HCCL_CONNECT_TIMEOUT: until all ranks of a communicator have called its initialisation (120 s, as in CANN).
Limit connect_limit();
// HCCL_EXEC_TIMEOUT: of one collective, from when it starts on the stream (1836 s, as in CANN; 0 for ever).
Limit execute_limit();

// A point in time that a wait ends at.
class Deadline {
 public:
  explicit Deadline(Limit limit)
      : end_(limit ? std::optional(std::chrono::steady_clock::now() + *limit) : std::nullopt) {}

  bool passed() const { return end_ && std::chrono::steady_clock::now() >= *end_; }
  // For poll: milliseconds that are left, at most `most`.
  int left(int most) const;

 private:
  std::optional<std::chrono::steady_clock::time_point> end_;
};

}  // namespace opwright::collective
