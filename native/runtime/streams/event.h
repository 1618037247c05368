// native/runtime/streams/event.h
// Events. Each record makes a new completion; a wait keeps the completion of the last record before it, so recording
// or destroying the event later does not disturb the wait.
//
// Inside of a capture a record makes a point of the captured graph, and waits for it are edges of the graph. Events
// created as external are different: they hold one flag that records set, waits await and resets clear when they run,
// in captured graphs and outside. So work outside can release a running graph.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "runtime/order/clock.h"
#include "runtime/streams/stream.h"

namespace opwright {

class Capture;

// The point in a stream at which an event was recorded.
class OPWRIGHT_API Completion {
 public:
  Completion(std::weak_ptr<Stream> stream, order::Record record)
      : stream_(std::move(stream)), record_(std::move(record)) {}

  // `failure` is what the stream has failed with before this point.
  void finish(std::optional<Failure> failure = std::nullopt);
  bool finished() const;
  bool succeeded() const;
  bool has_unreported_failure() const;
  // Throws the failure that the stream had here, if nobody has reported it.
  void require_success() const;
  // False when the timeout passed first. Gives the GIL up.
  bool wait(Stream::Timeout timeout) const;
  // For a task that waits for another stream's record. Ends early, by throwing, if the task's stream is aborted.
  void wait_in_task() const;
  // Microseconds on the steady clock; 0 before it has finished.
  double time() const;
  // Its place in the program's order.
  const order::Record& record() const noexcept { return record_; }
  const order::Moment& moment() const noexcept { return record_.moment; }
  // The stream it was recorded on, if that still exists.
  std::shared_ptr<Stream> stream() const { return stream_.lock(); }
  // Its number, or explore::kAnyStream.
  int32_t stream_id() const;

 private:
  const std::weak_ptr<Stream> stream_;
  const order::Record record_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool finished_ = false;
  std::optional<Failure> failure_;
  double time_ = 0;
};

// The state of an external event, or of a notify.
class ExternalFlag {
 public:
  ExternalFlag() = default;
  ~ExternalFlag();
  ExternalFlag(const ExternalFlag&) = delete;
  ExternalFlag& operator=(const ExternalFlag&) = delete;
  void set();
  void clear();
  bool is_set() const;
  // `event` names it in the line that appears when this takes long.
  void wait(const void* event) const;
  // Clears the flag in the moment in which the wait ends, so that no later record is lost.
  void wait_and_clear(const void* notify);

 private:
  void wait_until_set(std::unique_lock<std::mutex>& lock, const std::string& what) const;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool set_ = false;
};

class OPWRIGHT_API Event : public std::enable_shared_from_this<Event> {
 public:
  explicit Event(uint32_t flags);

  uint32_t flags() const noexcept { return flags_; }
  bool external() const noexcept { return external_ != nullptr; }

  void record(const std::shared_ptr<Stream>& stream);
  // Later tasks of `stream` start only after the last record. No wait if the event was never recorded.
  void make_wait(const std::shared_ptr<Stream>& stream);
  // The same for a caller whose record may still be on its way here, in the queue of another thread: an event that was
  // never recorded is waited for until it is, or until it is destroyed.
  void make_wait_for_coming_record(const std::shared_ptr<Stream>& stream);
  // Forgets the record, in the order of the stream.
  void reset(const std::shared_ptr<Stream>& stream);
  // The last record, or nullptr.
  std::shared_ptr<Completion> last() const;
  // Whether it was recorded at any time, be it in a capture or before a reset.
  bool ever_recorded() const noexcept { return ever_recorded_.load(); }
  // True if nothing is recorded that has not completed.
  bool complete() const;
  // True if a wait for the event still has an effect.
  bool pending() const;
  // Nothing will be recorded any more: ends waits for a first record.
  void note_destruction();
  // Ends the waits for a first record that have been made so far.
  void end_waits();
  // For calls that look at the event from outside. Throws 107028 if its last record is part of a capture.
  void require_not_captured(const char* why) const;

 private:
  struct CapturedRecord {
    std::weak_ptr<Capture> capture;
    size_t point;
  };

  // The capture that the last record is part of, nullptr if that is over; nullopt if the last record is an ordinary
  // one.
  std::optional<std::shared_ptr<Capture>> recording_capture(size_t& point) const;

  // How many times waits had been ended, if a wait would begin now; nullopt if there is nothing to wait for.
  std::optional<uint64_t> begin_wait_for_first_record() const;
  void wait_for_first_record(uint64_t endings) const;
  // The caller holds the mutex.
  bool recorded_or_destroyed() const { return last_ != nullptr || captured_.has_value() || destroyed_; }

  const uint32_t flags_;
  const std::shared_ptr<ExternalFlag> external_;
  mutable std::mutex mutex_;
  mutable std::condition_variable first_record_;
  std::shared_ptr<Completion> last_;
  std::optional<CapturedRecord> captured_;
  std::atomic<bool> ever_recorded_{false};
  bool destroyed_ = false;
  uint64_t endings_ = 0;
};

}  // namespace opwright
