// native/runtime/explore/results.h
// Digests of what copies bring to the host and from it. Two orders of a program are compared by them: the bytes that
// arrive at the host are its results, the bytes that leave it show what it has made of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

namespace opwright::explore {

// One call of a copy. A copy of a captured graph runs several times.
class Result {
 public:
  Result(std::string key, const char* direction, std::string place)
      : key_(std::move(key)), direction_(direction), place_(std::move(place)) {}
  void note(const void* bytes, size_t size);

 private:
  const std::string key_;  // the same in each run: the thread and the number of its copy
  const char* const direction_;
  const std::string place_;
  std::atomic<unsigned> runs_{0};
};

// For a copy between host and device; nullptr for others, and when nobody compares. On the thread that asks for it.
std::shared_ptr<Result> result_of_copy(bool from_device, bool to_device);

}  // namespace opwright::explore
