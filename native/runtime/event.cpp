// native/runtime/event.cpp
#include "runtime/event.h"

#include "runtime/gil.h"
#include "runtime/trace.h"

namespace opwright {
namespace {

// Finishes its completion even if the task is dropped: whoever waits for it must not wait for ever.
class RecordTask final : public Task {
 public:
  explicit RecordTask(std::shared_ptr<Completion> completion) : completion_(std::move(completion)) {}
  ~RecordTask() override { completion_->finish(); }
  void run() override { completion_->finish(); }
  const char* name() const noexcept override { return "aclrtRecordEvent"; }
  bool is_bookkeeping() const noexcept override { return true; }

 private:
  std::shared_ptr<Completion> completion_;
};

}  // namespace

void Completion::finish() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (finished_) return;
  finished_ = true;
  time_ = trace::now();
  changed_.notify_all();
}

bool Completion::finished() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return finished_;
}

bool Completion::wait(Stream::Timeout timeout) const {
  const GilRelease released;
  std::unique_lock<std::mutex> lock(mutex_);
  const auto done = [&] { return finished_; };
  if (timeout) return changed_.wait_for(lock, *timeout, done);
  changed_.wait(lock, done);
  return true;
}

double Completion::time() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return time_;
}

void Event::record(const std::shared_ptr<Stream>& stream) {
  auto completion = std::make_shared<Completion>(stream);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    last_ = completion;
  }
  stream->submit(std::make_unique<RecordTask>(std::move(completion)));
}

void Event::make_wait(Stream& stream) {
  std::shared_ptr<Completion> completion = last();
  if (completion == nullptr || completion->finished()) return;
  if (completion->stream().get() == &stream) return;  // its own order already holds
  stream.submit(make_bookkeeping("aclrtStreamWaitEvent",
                                 [completion = std::move(completion)] { completion->wait(std::nullopt); }));
}

void Event::reset() {
  const std::lock_guard<std::mutex> lock(mutex_);
  last_.reset();
}

std::shared_ptr<Completion> Event::last() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_;
}

}  // namespace opwright
