// native/runtime/streams/stream.cpp
#include "runtime/streams/stream.h"

#include <pthread.h>

#include "runtime/explore/explore.h"
#include "runtime/gil.h"
#include "runtime/observer.h"
#include "runtime/order/order.h"
#include "runtime/settings.h"
#include "runtime/streams/consumer_thread.h"
#include "runtime/trace.h"

namespace opwright {
namespace {

thread_local const Task* running_task = nullptr;
thread_local Stream* worker_of = nullptr;
thread_local const Stream* running_on = nullptr;  // the stream of running_task

// How often the worker looks for the next task before it sleeps. A wake-up costs the submitter a system call of one to
// two microseconds, about as much as this many looks; benchmarks/small_call.cpp shows the effect.
constexpr int kLooksBeforeSleep = 2000;

constexpr char kOwnStream[] =
    "a kernel cannot use the stream that it runs on, which would wait for itself; compute on the CPU tensors it gets";

void pause_cpu() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace

Stream::Stream(int device, int32_t id, uint32_t priority)
    : device_(device), id_(id), priority_(priority), sync_(settings().sync) {}

Stream::~Stream() {
  abort_pending();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_all();
  if (worker_.joinable()) end_worker();
  explore::forget(*this);
}

void Stream::end_worker() {
  if (worker_.get_id() == std::this_thread::get_id()) {
    worker_.detach();  // a task dropped the last reference to its own stream
  } else {
    const GilRelease released;
    worker_.join();
  }
}

const Task* Stream::current_task() noexcept { return running_task; }
const Task* Stream::exchange_current_task(const Task* task) noexcept { return std::exchange(running_task, task); }
Stream* Stream::current() noexcept { return worker_of; }
bool Stream::is_current_task_aborted() noexcept {
  return running_on != nullptr && running_on->completed_.load() < running_on->aborted_.load();
}

const Stream* Stream::exchange_running_on(const Stream* stream) noexcept { return std::exchange(running_on, stream); }

bool Stream::divert(std::shared_ptr<TaskSink> sink) {
  const std::lock_guard<std::mutex> lock(sink_mutex_);
  if (sink_ != nullptr && !sink_->is_over()) return false;
  sink_ = std::move(sink);
  diverted_.store(true);
  return true;
}

void Stream::end_diversion() {
  const std::lock_guard<std::mutex> lock(sink_mutex_);
  diverted_.store(false);
  sink_.reset();
}

std::shared_ptr<TaskSink> Stream::diversion() const {
  if (!diverted_.load()) return nullptr;
  const std::lock_guard<std::mutex> lock(sink_mutex_);
  return sink_;
}

std::shared_ptr<TaskSink> Stream::sink() const {
  auto found = diversion();
  return found != nullptr && !found->is_over() ? found : nullptr;
}

void Stream::submit(TaskPtr task) {
  if (const auto taker = sink()) task = taker->take(*this, std::move(task));
  if (task == nullptr) return;
  order::note_launch(*this, *task);
  if (sync_) {
    if (running_on == this) {
      require(task->is_bookkeeping(), ACL_ERROR_RT_STREAM_CONTEXT, kOwnStream);
      return execute(*task);
    }
    const GilRelease released;  // a Python kernel takes the lock itself, maybe while another thread waits here
    {
      const std::lock_guard<std::mutex> lock(inline_mutex_);
      execute(*task);
    }
    if (on_consumer_thread()) return;  // reported by the next synchronizing call
    if (const auto failure = take_failure()) throw Error(failure->code, failure->text);
    return;
  }
  // A function of the host's may run before the host goes on, as other work may.
  const bool is_work = !task->is_bookkeeping() || task->host_function() != nullptr;
  const std::string place = explore::launch_place();
  bool wake;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!worker_.joinable()) worker_ = std::thread([this] { work(); });
    if (Observer* const o = observer()) o->note_launch(*this, submitted_.load() + 1, task->name());
    explore::note_launch(*this, *task, place);
    queue_.push(std::move(task));
    submitted_.fetch_add(1);
    wake = asleep_;
  }
  if (wake) arrived_.notify_one();
  if (is_work) explore::pause_launcher();
}

bool Stream::wait(Timeout timeout) {
  // Its results would not be there yet: what a task enqueues runs after the task.
  require(worker_of != this && running_on != this, ACL_ERROR_RT_STREAM_CONTEXT, kOwnStream);
  const order::Moment moment = order::moment_of(*this);
  const uint64_t target = submitted_.load();
  const auto done = [&] { return completed_.load() >= target; };
  if (explore::enabled()) {
    const GilRelease released;
    const bool reached = explore::wait({text("stream ", id_, " of device ", device_), id_, done}, timeout);
    if (reached) order::note_seen(moment);
    return reached;
  }
  if (done()) {
    order::note_seen(moment);
    return true;
  }
  const GilRelease released;
  waiters_.fetch_add(1);  // before the test below: the worker reads it after it has counted a task
  bool reached = true;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    if (timeout) {
      reached = finished_.wait_for(lock, *timeout, done);
    } else {
      finished_.wait(lock, done);
    }
  }
  waiters_.fetch_sub(1);
  if (reached) order::note_seen(moment);
  return reached;
}

std::optional<Failure> Stream::take_failure() {
  if (!failed()) return std::nullopt;
  const std::lock_guard<std::mutex> lock(mutex_);
  failed_.store(false);
  std::optional<Failure> taken = std::exchange(failure_, std::nullopt);
  if (taken && taken->reported->exchange(true)) return std::nullopt;
  return taken;
}

std::optional<Failure> Stream::failure() const {
  if (!failed()) return std::nullopt;
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_ && !failure_->reported->load() ? failure_ : std::nullopt;
}

void Stream::abort_pending() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    aborted_.store(submitted_.load());
  }
  explore::note_abort(*this);
}

bool Stream::drops_tasks() noexcept {
  if (!failed() || failure_mode_.load(std::memory_order_relaxed) != FailureMode::kStop) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (failure_ && !failure_->reported->load()) return true;
  failure_.reset();
  failed_.store(false);
  return false;
}

void Stream::execute(Task& task) noexcept {
  if (!task.is_bookkeeping() && drops_tasks()) return;
  const double begin = trace::now();
  const Task* const outer = std::exchange(running_task, &task);
  const Stream* const outer_stream = std::exchange(running_on, this);
  try {
    task.run();
  } catch (const Inherited& inherited) {
    note_failure(inherited.failure);
  } catch (...) {
    const int code = record_current_exception(task.name());
    note_failure(Failure{code, take_recent_message()});
  }
  running_task = outer;
  running_on = outer_stream;
  const double end = trace::now();
  busy_.store(busy_.load(std::memory_order_relaxed) + (end - begin), std::memory_order_relaxed);
  if (trace::enabled()) {
    // In sync mode nothing was submitted.
    if (Observer* const o = observer()) o->note_task(*this, sync_ ? 0 : completed_.load() + 1, task, begin, end);
    const std::string args = task.trace_args();
    trace::write("task", task.name(), begin, end, text("\"stream\":", id_, args.empty() ? "" : ",", args));
  }
}

void Stream::note_failure(Failure failure) noexcept {
  // Waits of an aborted stream end by throwing. Such a task is dropped like those behind it.
  if (is_current_task_aborted()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
  failed_.store(true);
}

void Stream::finish_one() noexcept {
  completed_.fetch_add(1);
  if (waiters_.load() == 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);  // a waiter is either before its test or asleep
  finished_.notify_all();
}

void Stream::work() {
  worker_of = this;
  pthread_setname_np(pthread_self(), text("npu", device_, "-stream", id_).substr(0, 15).c_str());
  trace::name_this_thread(text("npu:", device_, " stream ", id_));
  uint64_t number = 0;
  while (true) {
    for (int look = 0; look < kLooksBeforeSleep && submitted_.load(std::memory_order_acquire) == number; ++look) {
      pause_cpu();
    }
    TaskQueue batch = [&] {
      std::unique_lock<std::mutex> lock(mutex_);
      asleep_ = true;
      arrived_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      asleep_ = false;
      return std::move(queue_);
    }();
    if (batch.empty()) return;
    while (!batch.empty()) {
      TaskPtr task = batch.pop();
      const explore::Turn turn(*this, [&] { return number < aborted_.load(); });
      if (++number > aborted_.load()) execute(*task);
      task.reset();  // releases what the task owns before anyone learns that it has finished
      finish_one();
    }
  }
}

}  // namespace opwright
