// native/runtime/trace.cpp
// The trace file: a JSON array of complete ("X") events, readable by chrome://tracing and Perfetto.
#include "runtime/trace.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "runtime/observer.h"
#include "runtime/settings.h"
#include "runtime/trace_switch.h"

namespace opwright::trace {

std::atomic<bool> enabled_flag{false};

namespace {

std::atomic<bool> has_file{false};

constexpr size_t kFlushBytes = 1 << 16;

class File {
 public:
  File() {
    const std::string& path = settings().trace_file;
    if (path.empty()) return;
    // The first process owns the file; children of the same command write beside it, under their process id.
    if (!open(path)) open(path + "." + std::to_string(getpid()));
    require(descriptor_ >= 0, ACL_ERROR_INVALID_FILE, "OPWRIGHT_TRACE='", path, "' cannot be written");
    buffer_ = "[\n";
    owner_ = getpid();
  }

  void append(const std::string& event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (descriptor_ < 0 || owner_ != getpid()) return;
    if (!first_) buffer_ += ",\n";
    first_ = false;
    buffer_ += event;
    if (buffer_.size() >= kFlushBytes) flush();
  }

  void close() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (descriptor_ < 0 || owner_ != getpid()) return;
    buffer_ += "\n]\n";
    flush();
    ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  bool open(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) return false;
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 || ftruncate(descriptor, 0) != 0) {
      ::close(descriptor);
      return false;
    }
    descriptor_ = descriptor;
    return true;
  }

  void flush() {
    size_t done = 0;
    while (done < buffer_.size()) {
      const ssize_t count = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
      if (count <= 0) break;  // a full disk ends the trace, not the program
      done += static_cast<size_t>(count);
    }
    buffer_.clear();
  }

  std::mutex mutex_;
  std::string buffer_;
  int descriptor_ = -1;
  pid_t owner_ = 0;
  bool first_ = true;
};

File& file() {
  static File* const instance = new File();  // outlives static destructors, which may still call ACL
  return *instance;
}

// Opens the file when the library is loaded, so that the very first call is in it.
const bool opened = [] {
  try {
    if (settings().trace_file.empty()) return false;
    file();
    enabled_flag.store(true);
    has_file.store(true);
    std::atexit([] { close(); });
    // A child neither owns the file nor may wait for the lock that another thread held at the fork.
    pthread_atfork(nullptr, nullptr, [] {
      has_file.store(false);
      enabled_flag.store(false);
    });
    return true;
  } catch (const Error& error) {
    std::fprintf(stderr, "opwright: %s\n", error.what());  // the program goes on without a trace
    return false;
  }
}();

long thread_id() noexcept {
  thread_local const long id = syscall(SYS_gettid);
  return id;
}

}  // namespace

double now() noexcept {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string quote(const std::string& value) {
  std::string result = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      result += escaped;
    } else {
      result += c;
    }
  }
  return result + '"';
}

void name_this_thread(const std::string& name) {
  if (!has_file.load()) return;
  file().append(text("{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":", getpid(), ",\"tid\":", thread_id(),
                     ",\"args\":{\"name\":", quote(name), "}}"));
}

void name_row(const Row& row, const std::string& process, const std::string& name) {
  if (!has_file.load()) return;
  const auto meta = [&](const char* what, const std::string& value) {
    file().append(text("{\"name\":\"", what, "\",\"ph\":\"M\",\"pid\":", row.process, ",\"tid\":", row.thread,
                       ",\"args\":{\"name\":", quote(value), "}}"));
  };
  meta("process_name", process);
  meta("thread_name", name);
}

void write_row(const Row& row, const std::string& name, double begin, double end, const std::string& args) {
  if (!has_file.load(std::memory_order_relaxed)) return;
  char times[96];
  std::snprintf(times, sizeof times, "\"ts\":%.3f,\"dur\":%.3f", begin, end - begin);
  file().append(text("{\"name\":", quote(name), ",\"cat\":\"instruction\",\"ph\":\"X\",", times,
                     ",\"pid\":", row.process, ",\"tid\":", row.thread, ",\"args\":{", args, "}}"));
}

void write(const char* category, const std::string& name, double begin, double end, const std::string& args) noexcept {
  if (Observer* const o = observer(); o != nullptr && std::strcmp(category, "call") == 0)
    o->note_call(name, begin, end);
  if (!has_file.load(std::memory_order_relaxed)) return;
  try {
    char times[96];
    std::snprintf(times, sizeof times, "\"ts\":%.3f,\"dur\":%.3f", begin, end - begin);
    file().append(text("{\"name\":", quote(name), ",\"cat\":\"", category, "\",\"ph\":\"X\",", times,
                       ",\"pid\":", getpid(), ",\"tid\":", thread_id(), ",\"args\":{", args, "}}"));
  } catch (const std::bad_alloc&) {
    has_file.store(false);  // no memory for the trace: stop tracing rather than the program
    enabled_flag.store(observer() != nullptr);
  }
}

void Span::add_error(int code) noexcept {
  if (name_ == nullptr) return;
  try {
    add(text("\"error\":", quote(recent_message()), ",\"code\":", code));
  } catch (const std::bad_alloc&) {
    name_ = nullptr;
  }
}

void listen(bool on) noexcept { enabled_flag.store(on || has_file.load()); }

void close() noexcept {
  has_file.store(false);
  enabled_flag.store(observer() != nullptr);
  file().close();
}

}  // namespace opwright::trace
