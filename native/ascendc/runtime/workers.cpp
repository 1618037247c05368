// native/ascendc/runtime/workers.cpp
#include "ascendc/runtime/workers.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace AscendC::machine {
namespace {

struct Pool {
  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<std::function<void()>> work;
  size_t idle = 0;
  pid_t owner = getpid();
};

// A forked child has none of the parent's threads: it gets a pool of its own.
Pool& pool() {
  static Pool* instance = new Pool();  // threads wait on it for ever
  if (instance->owner != getpid()) instance = new Pool();
  return *instance;
}

void serve(Pool& mine) {
  pthread_setname_np(pthread_self(), "ascendc-core");
  std::unique_lock<std::mutex> lock(mine.mutex);
  while (true) {
    ++mine.idle;
    mine.arrived.wait(lock, [&] { return !mine.work.empty(); });
    --mine.idle;
    const std::function<void()> work = std::move(mine.work.front());
    mine.work.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace

unsigned processors() {
  static const unsigned count = [] {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
    return std::max(1U, std::thread::hardware_concurrency());
  }();
  return count;
}

bool run_on_worker(std::function<void()> work) {
  Pool& mine = pool();
  const std::lock_guard<std::mutex> lock(mine.mutex);
  if (mine.idle <= mine.work.size()) {
    try {
      std::thread(serve, std::ref(mine)).detach();
    } catch (const std::system_error&) {
      return false;
    }
  }
  mine.work.push_back(std::move(work));
  mine.arrived.notify_one();
  return true;
}

}  // namespace AscendC::machine
