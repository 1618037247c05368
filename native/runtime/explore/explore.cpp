#include "runtime/explore/explore.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "runtime/explore/deadlock.h"
#include "runtime/explore/idle_clock.h"
#include "runtime/explore/lane.h"
#include "runtime/explore/log.h"
#include "runtime/explore/policy.h"
#include "runtime/gil.h"
#include "runtime/order/python_lines.h"
#include "runtime/settings.h"
#include "runtime/streams/long_wait.h"

namespace opwright::explore {
namespace {

using Milliseconds = std::chrono::milliseconds;

// Between two looks at what changes without a word: a stream that was aborted, a value in memory.
constexpr Milliseconds kInterval(20);
// A host that waits outside of the runtime, for a callback or a lock, gets its tasks after this.
constexpr Milliseconds kIdle(1000);
// How long nothing may happen while the host waits. Other processes may take longer, and a task too.
constexpr Milliseconds kStuck(10'000);
constexpr Milliseconds kStuckOutside(60'000);
constexpr Milliseconds kStuckInTask(60'000);
// The host does not depend on the tasks that it lets run after a launch.
constexpr Milliseconds kLongestPause(10'000);
constexpr Milliseconds kLongestQuery(1000);
// A loop of queries makes progress from here on.
constexpr int kFreeQueries = 2;

constexpr int kDeadlockStatus = 86;  // of the process; opwright/twin/explore/outcome.py knows it

thread_local std::shared_ptr<Lane> own_lane;  // of the task that the thread runs

class Scheduler final : public History {
 public:
  explicit Scheduler(std::unique_ptr<Policy> policy) : policy_(std::move(policy)) {}

  void note_launch(const Stream& stream, const Task& task, const std::string& place) {
    const std::lock_guard<std::mutex> lock(mutex_);
    note_change();
    queries_ = 0;
    Lane& lane = *lane_of(stream);
    lane.queue.push_back({++lane.launched, ++launches_, task.name(), place});
    event_log().write_launch({lane.stream, lane.launched, 0}, task.name(), place);
  }

  void pause_launcher() {
    Host host;
    std::unique_lock<std::mutex> lock(mutex_);
    stay(host, lock, kLongestPause);
  }

  bool wait_on_host(const Wait& wait, Stream::Timeout timeout) {
    Host host(&wait, timeout.has_value());
    host.place = order::python_lines();
    host.holds_python_lock = holds_python_lock();
    std::unique_lock<std::mutex> lock(mutex_);
    ++waits_;  // also for one that is over, so that the numbers are the same in each order
    event_log().write_wait(wait.what, host.place);
    if (wait.done()) return true;
    return stay(host, lock, timeout);
  }

  void note_query(const Wait& wait) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (wait.done()) return;
    if (++queries_ <= kFreeQueries) {
      Host host;
      stay(host, lock, kLongestQuery);
      return;
    }
    if (working_ == nullptr && candidates().empty()) return;
    const uint64_t before = steps_;
    const Wait step{wait.what, wait.on, [&] { return wait.done() || (steps_ > before && working_ == nullptr); }};
    Host host(&step);
    stay(host, lock, kLongestQuery);
  }

  void begin_task(const Stream& stream, const std::function<bool()>& dropped) {
    std::unique_lock<std::mutex> lock(mutex_);
    own_lane = lane_of(stream);
    Lane& lane = *own_lane;
    if (!await_turn(lane, lock, dropped)) begin_next(lane);  // nobody is asked about a task that is dropped
    lane.state = Lane::State::kWorks;
  }

  void end_task() {
    const std::lock_guard<std::mutex> lock(mutex_);
    own_lane->current.reset();
    leave(*own_lane);
    own_lane.reset();
  }

  void pause_task() {
    std::unique_lock<std::mutex> lock(mutex_);
    own_lane->state = Lane::State::kPauses;
    leave(*own_lane);
    await_turn(*own_lane, lock, Stream::is_current_task_aborted);
    own_lane->state = Lane::State::kWorks;
  }

  bool wait_in_task(const Wait& wait) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (wait.done()) return true;
    own_lane->state = Lane::State::kWaits;
    own_lane->wait = &wait;
    leave(*own_lane);
    const bool done =
        await_turn(*own_lane, lock, [&] { return wait.ends_with_abort && Stream::is_current_task_aborted(); });
    own_lane->wait = nullptr;
    own_lane->state = Lane::State::kWorks;
    return done;
  }

  void go_outside(std::string what) {
    const std::lock_guard<std::mutex> lock(mutex_);
    own_lane->state = Lane::State::kOutside;
    own_lane->outside = std::move(what);
    leave(*own_lane);
  }

  void come_back() {
    std::unique_lock<std::mutex> lock(mutex_);
    note_change();
    own_lane->state = Lane::State::kReturns;
    await_turn(*own_lane, lock, Stream::is_current_task_aborted);
    own_lane->state = Lane::State::kWorks;
  }

  void note_abort(const Stream& stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    lane_of(stream)->changed.notify_all();
  }

  void forget(const Stream& stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (lanes_.erase(stream.id()) != 0) forgotten_.insert(stream.id());
  }

  // History, for the policy: the mutex is held.
  bool has_run(const Step& step) const override {
    const auto lane = lanes_.find(step.stream);
    if (lane == lanes_.end()) return forgotten_.count(step.stream) != 0;  // to destroy it is to wait for its tasks
    return std::make_pair(lane->second->begun, lane->second->part) >= std::make_pair(step.task, step.part);
  }
  bool is_launched(int32_t stream, uint64_t task) const override {
    const auto lane = lanes_.find(stream);
    return lane != lanes_.end() && lane->second->launched >= task;
  }
  uint64_t waits() const override { return waits_; }

 private:
  // All of these are called with the mutex.

  std::shared_ptr<Lane> lane_of(const Stream& stream) {
    std::shared_ptr<Lane>& lane = lanes_[stream.id()];
    if (lane == nullptr) {
      lane = std::make_shared<Lane>();
      lane->stream = stream.id();
      lane->device = stream.device();
    }
    return lane;
  }

  void note_change() {
    is_idle_ = false;
    idle_.reset();
  }

  // Stays in the call of the host until it is released. False when the timeout passed first.
  bool stay(Host& host, std::unique_lock<std::mutex>& lock, Stream::Timeout timeout) {
    const auto end = std::chrono::steady_clock::now() + timeout.value_or(Milliseconds(0));
    note_change();
    hosts_.push_back(&host);
    dispatch();
    while (!host.released) {
      host.changed.wait_for(lock, kInterval);
      if (!host.released) look();
      if (!host.released && timeout && std::chrono::steady_clock::now() >= end) break;
    }
    hosts_.remove(&host);
    return host.released;
  }

  // False if the task is to be dropped and has not been chosen.
  bool await_turn(Lane& lane, std::unique_lock<std::mutex>& lock, const std::function<bool()>& dropped) {
    if (!lane.chosen) dispatch();
    while (!lane.chosen) {
      if (dropped()) return false;
      lane.changed.wait_for(lock, kInterval);
      if (!lane.chosen) look();
    }
    lane.chosen = false;
    return true;
  }

  // The lane's task has ended, or lets others run.
  void leave(Lane& lane) {
    note_change();
    if (working_ == &lane) working_ = nullptr;
    dispatch();
  }

  void begin_next(Lane& lane) {
    lane.current = std::move(lane.queue.front());
    lane.queue.pop_front();
    lane.begun = lane.current->number;
    lane.part = 0;
  }

  std::vector<Candidate> candidates() const {
    std::vector<Candidate> found;
    for (const auto& [stream, lane] : lanes_) {
      if (lane->chosen) continue;
      if (!lane->current) {
        if (lane->queue.empty()) continue;
        const Launched& next = lane->queue.front();
        found.push_back({{stream, next.number, 0}, next.order, false});
        continue;
      }
      const bool pauses = lane->state == Lane::State::kPauses;
      const bool goes_on =
          lane->state == Lane::State::kReturns || (lane->state == Lane::State::kWaits && lane->wait->done());
      if (!pauses && !goes_on) continue;
      const uint64_t part = pauses ? lane->part + 1 : lane->part;
      found.push_back({{stream, lane->current->number, part}, lane->current->order, false});
    }
    return found;
  }

  // Marks the streams that the host waits for, and those that these wait for. Where it is not known which stream that
  // is, it is each of them.
  void mark_needed(std::vector<Candidate>& found) const {
    std::set<int32_t> needed;
    std::vector<int32_t> open;
    for (const Host* const host : hosts_) {
      if (host->wait != nullptr && !host->released) open.push_back(host->wait->on);
    }
    while (!open.empty()) {
      const int32_t stream = open.back();
      open.pop_back();
      if (!needed.insert(stream).second) continue;
      const auto lane = lanes_.find(stream);
      if (lane != lanes_.end() && lane->second->wait != nullptr) open.push_back(lane->second->wait->on);
    }
    const bool any = needed.count(kAnyStream) != 0;
    for (Candidate& each : found) each.needed = any || needed.count(each.step.stream) != 0;
  }

  // Lets those hosts go on that wait for nothing any more, and those that need not wait. Whether others wait.
  bool release_hosts(bool willing) {
    bool others = false;
    for (Host* const host : hosts_) {
      if (host->released) continue;
      if (host->wait == nullptr ? willing : host->wait->done()) {
        host->released = true;
        host->changed.notify_all();
      } else if (host->wait != nullptr) {
        others = true;
      }
    }
    return others;
  }

  bool has_willing_host() const {
    for (const Host* const host : hosts_) {
      if (host->wait == nullptr && !host->released) return true;
    }
    return false;
  }

  // Chooses what runs next, if nothing does.
  void dispatch() {
    if (working_ != nullptr) return;
    const bool host_waits = release_hosts(/*willing=*/false);
    std::vector<Candidate> found = candidates();
    if (found.empty()) {
      release_hosts(/*willing=*/true);
      return;
    }
    mark_needed(found);
    std::optional<size_t> chosen;
    if (has_willing_host()) {
      chosen = policy_->choose(found, /*host_may_go_on=*/true, *this);
      if (!chosen) release_hosts(/*willing=*/true);
    }
    if (!chosen && (host_waits || is_idle_)) chosen = policy_->choose(found, /*host_may_go_on=*/false, *this);
    if (chosen) let_run(*lanes_.at(found[*chosen].step.stream));
  }

  void let_run(Lane& lane) {
    const bool is_step = !lane.current || lane.state == Lane::State::kPauses;
    if (!lane.current) {
      begin_next(lane);
    } else if (is_step) {
      ++lane.part;
    }
    if (is_step) {
      ++steps_;
      event_log().write_run({lane.stream, lane.begun, lane.part});
    }
    idle_.reset();
    working_ = &lane;
    lane.chosen = true;
    lane.changed.notify_all();
  }

  // Now and then, on each thread that waits.
  void look() {
    dispatch();
    const Milliseconds idle = idle_.look();
    if (hosts_.empty()) {
      if (working_ == nullptr && !is_idle_ && idle >= kIdle) {
        is_idle_ = true;
        dispatch();
      }
      return;
    }
    if (idle >= longest_wait()) end_deadlock();
  }

  Milliseconds longest_wait() const {
    if (working_ != nullptr) return kStuckInTask;
    for (const Host* const host : hosts_) {
      if (host->has_timeout) return Milliseconds::max();  // it goes on by itself
    }
    for (const auto& [stream, lane] : lanes_) {
      if (lane->state == Lane::State::kOutside) return kStuckOutside;
    }
    return kStuck;
  }

  [[noreturn]] void end_deadlock() const {
    const std::string words = describe_deadlock(lanes_, hosts_);
    (void)!write(STDERR_FILENO, words.data(), words.size());
    std::fflush(nullptr);
    std::_Exit(kDeadlockStatus);
  }

  std::mutex mutex_;  // no other mutex is taken under it, except in Wait::done
  const std::unique_ptr<Policy> policy_;
  Lanes lanes_;
  std::set<int32_t> forgotten_;  // streams that were destroyed
  std::list<Host*> hosts_;
  const Lane* working_ = nullptr;  // the one whose task runs
  IdleClock idle_;
  bool is_idle_ = false;  // tasks run although no host asks for them
  uint64_t launches_ = 0;
  uint64_t waits_ = 0;
  uint64_t steps_ = 0;
  int queries_ = 0;  // since the last launch
};

Scheduler* make_scheduler() {
  if (const auto holds = explore_holds_setting()) return new Scheduler(policy_with_holds(*holds));
  if (const auto seed = explore_setting()) return new Scheduler(policy_of(*seed));
  return nullptr;
}

// Null when off. Workers run until the process ends.
Scheduler* scheduler() {
  static Scheduler* const instance = make_scheduler();
  return instance;
}

}  // namespace

bool enabled() { return scheduler() != nullptr; }

std::string launch_place() { return enabled() ? order::python_lines() : std::string(); }

void note_launch(const Stream& stream, const Task& task, const std::string& place) {
  if (Scheduler* const s = scheduler()) s->note_launch(stream, task, place);
}

void pause_launcher() {
  Scheduler* const s = scheduler();
  if (s == nullptr || own_lane != nullptr) return;
  const GilRelease released(GilRelease::When::kAlways);
  s->pause_launcher();
}

void note_abort(const Stream& stream) {
  if (Scheduler* const s = scheduler()) s->note_abort(stream);
}

void forget(const Stream& stream) {
  if (Scheduler* const s = scheduler()) s->forget(stream);
}

Turn::Turn(const Stream& stream, const std::function<bool()>& dropped) : taken_(enabled()) {
  if (taken_) scheduler()->begin_task(stream, dropped);
}

Turn::~Turn() {
  if (taken_) scheduler()->end_task();
}

void pause_task() {
  if (Scheduler* const s = scheduler(); s != nullptr && own_lane != nullptr) s->pause_task();
}

bool wait(const Wait& wait, Stream::Timeout timeout) {
  if (own_lane == nullptr) return scheduler()->wait_on_host(wait, timeout);
  if (!scheduler()->wait_in_task(wait)) require_not_aborted(wait.what);
  return true;
}

void wait_unlocked(std::unique_lock<std::mutex>& lock, Wait awaited) {
  std::mutex& mutex = *lock.mutex();
  lock.unlock();  // the scheduler's mutex is taken before that of `done`
  awaited.done = [&mutex, done = std::move(awaited.done)] {
    const std::lock_guard<std::mutex> looking(mutex);
    return done();
  };
  wait(awaited);
  lock.lock();
}

void note_query(const Wait& wait) {
  Scheduler* const s = scheduler();
  if (s == nullptr || own_lane != nullptr) return;
  const GilRelease released;
  s->note_query(wait);
}

Outside::Outside(const std::function<std::string()>& what) : entered_(enabled() && own_lane != nullptr) {
  if (entered_) scheduler()->go_outside(what());
}

Outside::~Outside() {
  if (entered_) scheduler()->come_back();
}

}  // namespace opwright::explore
