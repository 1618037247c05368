// native/runtime/streams/event.cpp
#include "runtime/streams/event.h"

#include "acl/acl_rt_types.h"
#include "runtime/explore/explore.h"
#include "runtime/gil.h"
#include "runtime/order/order.h"
#include "runtime/streams/capture/capture.h"
#include "runtime/streams/flag_task.h"
#include "runtime/streams/long_wait.h"
#include "runtime/trace.h"

namespace opwright {
namespace {

constexpr char kRecord[] = "the record of an event";

// Finishes its completion even if the task is dropped: whoever waits for it must not wait for ever.
class RecordTask final : public Task {
 public:
  explicit RecordTask(std::shared_ptr<Completion> completion) : completion_(std::move(completion)) {}
  ~RecordTask() override { completion_->finish(); }
  void run() override {
    const Stream* const worker = Stream::current();  // none in sync mode, where calls report what they failed with
    completion_->finish(worker != nullptr ? worker->failure() : std::nullopt);
  }
  const char* name() const noexcept override { return "aclrtRecordEvent"; }
  bool is_bookkeeping() const noexcept override { return true; }

 private:
  std::shared_ptr<Completion> completion_;
};

}  // namespace

void Completion::finish(std::optional<Failure> failure) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (finished_) return;
  finished_ = true;
  failure_ = std::move(failure);
  time_ = trace::now();
  changed_.notify_all();
}

bool Completion::finished() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return finished_;
}

bool Completion::succeeded() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return finished_ && !failure_;
}

bool Completion::has_unreported_failure() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_ && !failure_->reported->load();
}

void Completion::require_success() const {
  if (has_unreported_failure()) throw Inherited{*failure_};  // a finished completion does not change
}

bool Completion::wait(Stream::Timeout timeout) const {
  const GilRelease released;
  if (explore::enabled()) return explore::wait({kRecord, stream_id(), [this] { return finished(); }}, timeout);
  std::unique_lock<std::mutex> lock(mutex_);
  const auto done = [&] { return finished_; };
  if (timeout) return changed_.wait_for(lock, *timeout, done);
  changed_.wait(lock, done);
  return true;
}

void Completion::wait_in_task() const {
  std::unique_lock<std::mutex> lock(mutex_);
  wait_unless_aborted(changed_, lock, kRecord, stream_id(), [&] { return finished_; });
}

int32_t Completion::stream_id() const {
  const auto recorder = stream();
  return recorder != nullptr ? recorder->id() : explore::kAnyStream;
}

double Completion::time() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return time_;
}

ExternalFlag::~ExternalFlag() { order::forget(this, sizeof *this); }

void ExternalFlag::set() {
  const std::lock_guard<std::mutex> lock(mutex_);
  set_ = true;
  changed_.notify_all();
}

void ExternalFlag::clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  set_ = false;
}

bool ExternalFlag::is_set() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return set_;
}

void ExternalFlag::wait(const void* event) const {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!set_) wait_until_set(lock, text("the record of external event ", event));
}

void ExternalFlag::wait_and_clear(const void* notify) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!set_) wait_until_set(lock, text("the record of notify ", notify));
  set_ = false;
}

void ExternalFlag::wait_until_set(std::unique_lock<std::mutex>& lock, const std::string& what) const {
  require_wait_can_end(what);
  wait_long(changed_, lock, what, [&] { return set_; });
}

Event::Event(uint32_t flags)
    : flags_(flags), external_((flags & ACL_EVENT_EXTERNAL) != 0 ? std::make_shared<ExternalFlag>() : nullptr) {}

void Event::record(const std::shared_ptr<Stream>& stream) {
  ever_recorded_.store(true);
  if (external()) {
    stream->submit(make_flag_task("aclrtRecordEvent", [flag = external_] { flag->set(); },
                                  {order::FlagUse::Kind::kSet, external_.get()}));
    return;
  }
  if (const auto capture = capture_of(*stream)) {
    const size_t point = capture->record(*stream, this);
    const std::lock_guard<std::mutex> lock(mutex_);
    captured_ = CapturedRecord{capture, point};
    first_record_.notify_all();
    return;
  }
  auto completion = std::make_shared<Completion>(stream, order::record_on(*stream));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    last_ = completion;
    captured_.reset();
    first_record_.notify_all();
  }
  stream->submit(std::make_unique<RecordTask>(std::move(completion)));
}

void Event::make_wait(const std::shared_ptr<Stream>& stream) {
  if (external()) {
    stream->submit(make_flag_task("aclrtStreamWaitEvent",
                                  [flag = external_, event = static_cast<const void*>(this)] { flag->wait(event); },
                                  {order::FlagUse::Kind::kWait, external_.get()}));
    return;
  }
  size_t point = 0;
  if (const auto captured = recording_capture(point)) {
    require(*captured != nullptr, ACL_ERROR_RT_EVENT_CAPTURED,
            "the event was recorded inside of a capture that is over; record it again outside");
    (*captured)->wait(stream, point);
    return;
  }
  if (capture_of(*stream) != nullptr) {
    if (last() == nullptr) return;  // never recorded: nothing to wait for, outside of captures too
    fail(ACL_ERROR_RT_CAPTURE_DEPENDENCY, "stream ", stream->id(),
         " is being captured and waits for an event that was not recorded in the capture: a replay could not wait for "
         "it. Record it on a captured stream, or use an external event");
  }
  std::shared_ptr<Completion> completion = last();
  if (completion != nullptr) order::note_wait(*stream, completion->record());
  if (completion == nullptr || completion->succeeded()) return;
  if (completion->stream() == stream) return;  // its own order already holds
  stream->submit(make_bookkeeping("aclrtStreamWaitEvent", [completion = std::move(completion)] {
    completion->wait_in_task();
    completion->require_success();
  }));
}

void Event::make_wait_for_coming_record(const std::shared_ptr<Stream>& stream) {
  const auto endings = begin_wait_for_first_record();
  if (external() || !endings || capture_of(*stream) != nullptr) return make_wait(stream);
  stream->submit(make_bookkeeping("aclrtStreamWaitEvent", [self = shared_from_this(), endings = *endings] {
    self->wait_for_first_record(endings);
    self->require_not_captured("a stream that is not captured cannot wait for");
    const auto completion = self->last();
    if (completion == nullptr) return;  // the wait has ended without a record
    completion->wait_in_task();
    completion->require_success();
  }));
}

std::optional<uint64_t> Event::begin_wait_for_first_record() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (recorded_or_destroyed()) return std::nullopt;
  return endings_;
}

void Event::wait_for_first_record(uint64_t endings) const {
  std::unique_lock<std::mutex> lock(mutex_);
  wait_long(first_record_, lock, text("the first record of event ", static_cast<const void*>(this)),
            [&] { return recorded_or_destroyed() || endings_ != endings; });
}

void Event::note_destruction() {
  const std::lock_guard<std::mutex> lock(mutex_);
  destroyed_ = true;
  first_record_.notify_all();
}

void Event::end_waits() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++endings_;
  first_record_.notify_all();
}

bool Event::pending() const {
  size_t point = 0;
  if (const auto capture = recording_capture(point)) return *capture != nullptr;
  if (external()) return !external_->is_set();
  const auto completion = last();
  return completion != nullptr && (!completion->finished() || completion->has_unreported_failure());
}

void Event::reset(const std::shared_ptr<Stream>& stream) {
  if (external()) {
    stream->submit(make_flag_task("aclrtResetEvent", [flag = external_] { flag->clear(); },
                                  {order::FlagUse::Kind::kClear, external_.get()}));
    return;
  }
  size_t point = 0;
  if (recording_capture(point)) return;  // each replay records anew
  const std::weak_ptr<Completion> target = last();
  // In stream order: a reset that is enqueued behind a record must not take the record away before it happened.
  stream->submit(make_bookkeeping("aclrtResetEvent", [self = shared_from_this(), target] {
    const std::lock_guard<std::mutex> lock(self->mutex_);
    if (self->last_ == target.lock()) self->last_.reset();
  }));
}

std::shared_ptr<Completion> Event::last() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_;
}

bool Event::complete() const {
  if (external()) return external_->is_set();
  const auto completion = last();
  return completion == nullptr || completion->finished();
}

void Event::require_not_captured(const char* why) const {
  size_t point = 0;
  require(!recording_capture(point), ACL_ERROR_RT_EVENT_CAPTURED, why,
          " an event that was recorded inside of a capture: nothing has happened there. Use events that were recorded "
          "outside");
}

std::optional<std::shared_ptr<Capture>> Event::recording_capture(size_t& point) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!captured_) return std::nullopt;
  point = captured_->point;
  auto capture = captured_->capture.lock();
  if (capture != nullptr && !capture->ongoing()) capture = nullptr;
  return capture;
}

}  // namespace opwright
