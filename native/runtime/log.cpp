// native/runtime/log.cpp
#include "runtime/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

#include "runtime/settings.h"
#include "runtime/streams/consumer_thread.h"

namespace opwright::log {
namespace {

// A loop around a call that fails would bury everything else.
constexpr int kMaxReportedErrors = 20;

// Answers that programs act on by the code alone: is there such a feature, or counter (torch_npu asks in each profile),
// is there memory without freeing any, and is there another message or callback (threads of TorchAir and torch_npu ask
// until they are ended).
bool is_answer(int code) {
  return code == ACL_ERROR_RT_FEATURE_NOT_SUPPORT || code == ACL_ERROR_PROF_MODULES_UNSUPPORTED ||
         code == ACL_ERROR_RT_MEMORY_ALLOCATION || code == ACL_ERROR_RT_QUEUE_EMPTY ||
         code == ACL_ERROR_RT_REPORT_TIMEOUT;
}

const Settings& choice() noexcept {
  static const Settings fallback = [] {
    Settings none{};
    none.log_level = ACL_ERROR;
    none.own_log_level = Settings::kLogNothing;
    return none;
  }();
  try {
    return settings();
  } catch (const Error&) {
    return fallback;  // aclInit reports the wrong variable
  }
}

pid_t thread_id() noexcept { return static_cast<pid_t>(syscall(SYS_gettid)); }

std::mutex& shared_clock();

// "2026-11-27-03:20:00.123.456"
std::string time_now() {
  const auto now = std::chrono::system_clock::now();
  const time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() % 1'000'000;
  char day[32];
  {
    // Both functions take locks of libc, which a child would find taken as well.
    const std::lock_guard<std::mutex> lock(shared_clock());
    struct tm local{};
    localtime_r(&seconds, &local);
    std::strftime(day, sizeof day, "%Y-%m-%d-%H:%M:%S", &local);
  }
  char result[48];
  std::snprintf(result, sizeof result, "%s.%03d.%03d", day, static_cast<int>(micros / 1000),
                static_cast<int>(micros % 1000));
  return result;
}

// A file that every process has for itself, named as CANN names it: plog-PID_TIME.log.
class LogFile {
 public:
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

  // Standard error if there is no folder for files, or it cannot be written to, which is said once.
  int descriptor() {
    if (choice().log_folder.empty()) return STDERR_FILENO;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::exchange(process_, getpid()) != getpid()) descriptor_ = open_file();
    return descriptor_;
  }

 private:
  static int open_file() {
    const std::filesystem::path folder = std::filesystem::path(choice().log_folder) / "debug" / "plog";
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    std::string digits;
    for (const char c : time_now()) {
      if (c >= '0' && c <= '9') digits += c;
    }
    const size_t kToMilliseconds = 17;  // YYYYMMDDhhmmssmmm
    const std::filesystem::path file = folder / text("plog-", getpid(), "_", digits.substr(0, kToMilliseconds), ".log");
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (descriptor >= 0) return descriptor;
    const std::string line = text("opwright: ASCEND_PROCESS_LOG_PATH: cannot write ", file.string(), ": ",
                                  std::system_category().message(errno), "; the log goes to standard error\n");
    (void)!::write(STDERR_FILENO, line.data(), line.size());
    return STDERR_FILENO;
  }

  std::mutex mutex_;
  pid_t process_ = 0;  // a child has a file of its own
  int descriptor_ = STDERR_FILENO;
};

// Whether every error is written at once, whatever the program asks for.
bool writes_every_error() noexcept { return choice().log_to_stdout || !choice().log_folder.empty(); }

std::string format(aclLogLevel level, const char* module, const std::string& place, const std::string& message) {
  static const char* const kNames[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
  return text("[", kNames[level & 3], "] ", module, "(", getpid(), ",", program_invocation_short_name, "):", time_now(),
              " [", place, "]", thread_id(), " ", message, "\n");
}

// The twin's own sources mean nothing to a user, so the code stands where CANN has file and line.
std::string format_error(int code, const std::string& message) {
  return format(ACL_ERROR, "RUNTIME", text("opwright:", code), message);
}

// Without the name of the function that it begins with.
std::string body_of(const std::string& message) {
  const size_t end = message.find(": ");
  return end == std::string::npos ? message : message.substr(end + 2);
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

struct UnreadError {
  pid_t process;  // a child has those of its parent
  std::string line;
  std::string body;
};

struct PendingErrors {
  std::mutex mutex;
  std::map<pid_t, UnreadError> by_thread;
  std::atomic<size_t> count{0};  // of by_thread: spares threads without an error the mutex
  int written = 0;
};

struct Log {
  PendingErrors pending;
  LogFile file;      // its mutex may be taken while that of `pending` is held, not the other way round
  std::mutex clock;  // may be taken while either of them is held, not the other way round
};

void lock_all();
void unlock_all();

// Never destroyed: threads may outlive the process's static objects.
Log& shared_log() {
  static Log* const instance = [] {
    // A child has no thread that would give a mutex back: nobody may hold one when the process forks.
    pthread_atfork([] { lock_all(); }, [] { unlock_all(); }, [] { unlock_all(); });
    return new Log();
  }();
  return *instance;
}

// Made when the library is loaded: a child that is forked while another thread makes it would wait for that thread.
[[maybe_unused]] const Log& kLoaded = shared_log();

void lock_all() {
  shared_log().pending.mutex.lock();
  shared_log().file.lock();
  shared_log().clock.lock();
}

void unlock_all() {
  shared_log().clock.unlock();
  shared_log().file.unlock();
  shared_log().pending.mutex.unlock();
}

std::mutex& shared_clock() { return shared_log().clock; }

PendingErrors& pending() { return shared_log().pending; }

void put(const std::string& line) {
  const int target = choice().log_to_stdout ? STDOUT_FILENO : shared_log().file.descriptor();
  (void)!::write(target, line.data(), line.size());
}

// The caller holds the mutex of `pending`.
void write_limited(const std::string& line) {
  if (++pending().written > kMaxReportedErrors + 1) return;
  put(pending().written <= kMaxReportedErrors
          ? line
          : format(ACL_ERROR, "RUNTIME", "opwright", "more errors that the program did not read are not written"));
}

// The caller holds the mutex of `pending`.
void write_unread(const UnreadError& error) {
  if (error.process == getpid()) write_limited(error.line);
}

// At the end of the process: the errors of the threads that it still has.
void write_all_unread() noexcept {
  try {
    const std::lock_guard<std::mutex> lock(pending().mutex);
    for (const auto& [thread, error] : pending().by_thread) write_unread(error);
    pending().by_thread.clear();
    pending().count.store(0);
  } catch (const std::bad_alloc&) {
    return;
  }
}

// At the end of a thread, whose number another one may get: its error.
struct ThreadEnd {
  ~ThreadEnd() {
    try {
      const std::lock_guard<std::mutex> lock(pending().mutex);
      const auto mine = pending().by_thread.find(thread_id());
      if (mine == pending().by_thread.end()) return;
      write_unread(mine->second);
      pending().by_thread.erase(mine);
      pending().count.store(pending().by_thread.size());
    } catch (const std::bad_alloc&) {
      return;
    }
  }
};

// An error may come after the thread's ThreadEnd, from destructors that run later. It stays until the process ends.
void expect_end_of_thread() {
  thread_local bool expected = false;  // outlives ThreadEnd, which must not be touched after its end
  if (std::exchange(expected, true)) return;
  thread_local ThreadEnd end;
  (void)end;
}

}  // namespace

bool writes_own(aclLogLevel level) noexcept { return level >= choice().own_log_level; }

void write(aclLogLevel level, const Place& place, const std::string& message) noexcept {
  try {
    put(format(level, "APP", text(place.file, ":", place.line), text(place.function, ": ", message)));
  } catch (const std::bad_alloc&) {
    return;  // no memory for the log: the program goes on without the line
  }
}

void note_error(int code, const std::string& message) noexcept {
  try {
    if (choice().log_level > ACL_ERROR) return;
    if (writes_every_error()) return put(format_error(code, message));
    if (is_answer(code) || on_consumer_thread()) return;  // that thread leaves its errors on streams
    UnreadError error{getpid(), format_error(code, message), body_of(message)};
    // Before the mutex: both may take the dynamic loader's lock, whose holder may be about to note an error.
    static const int registered = std::atexit([] { write_all_unread(); });
    (void)registered;
    expect_end_of_thread();
    const std::lock_guard<std::mutex> lock(pending().mutex);
    const auto [known, added] = pending().by_thread.try_emplace(thread_id());
    // A call that fails because of another one repeats its text.
    if (!added && !ends_with(error.body, known->second.body)) write_unread(known->second);
    known->second = std::move(error);
    pending().count.store(pending().by_thread.size());
  } catch (const std::bad_alloc&) {
    return;
  }
}

void note_error_read() noexcept {
  if (pending().count.load() == 0) return;
  const std::lock_guard<std::mutex> lock(pending().mutex);
  pending().by_thread.erase(thread_id());
  pending().count.store(pending().by_thread.size());
}

void write_lost_failure(int code, const std::string& message) noexcept {
  try {
    if (choice().log_level > ACL_ERROR) return;
    const std::string line = format_error(code, message);
    if (writes_every_error()) return put(line);
    const std::lock_guard<std::mutex> lock(pending().mutex);
    write_limited(line);
  } catch (const std::bad_alloc&) {
    return;
  }
}

}  // namespace opwright::log
