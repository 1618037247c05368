// native/runtime/event.h
// Events. Each record makes a new completion; a wait keeps the completion of the last record before it, so recording
// or destroying the event later does not disturb the wait.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "runtime/stream.h"

namespace opwright {

// The point in a stream at which an event was recorded.
class OPWRIGHT_API Completion {
 public:
  explicit Completion(std::weak_ptr<Stream> stream) : stream_(std::move(stream)) {}

  void finish();
  bool finished() const;
  // False when the timeout passed first. Gives the GIL up.
  bool wait(Stream::Timeout timeout) const;
  // Microseconds on the steady clock; 0 before it has finished.
  double time() const;
  // The stream it was recorded on, if that still exists.
  std::shared_ptr<Stream> stream() const { return stream_.lock(); }

 private:
  const std::weak_ptr<Stream> stream_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool finished_ = false;
  double time_ = 0;
};

class OPWRIGHT_API Event {
 public:
  explicit Event(uint32_t flags) : flags_(flags) {}

  uint32_t flags() const noexcept { return flags_; }

  void record(const std::shared_ptr<Stream>& stream);
  // Later tasks of `stream` start only after the last record. No wait if the event was never recorded.
  void make_wait(Stream& stream);
  // Forgets the record.
  void reset();
  // The last record, or nullptr.
  std::shared_ptr<Completion> last() const;

 private:
  const uint32_t flags_;
  mutable std::mutex mutex_;
  std::shared_ptr<Completion> last_;
};

}  // namespace opwright
