// native/runtime/profiling/recorder.cpp
#include "runtime/profiling/recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/observer.h"
#include "runtime/profiling/session.h"
#include "runtime/streams/stream.h"
#include "runtime/streams/task.h"
#include "runtime/trace.h"

namespace opwright::profiling {

namespace {

long thread_id() noexcept {
  thread_local const long id = syscall(SYS_gettid);
  return id;
}

// Nanoseconds, as in the files.
std::string at(const char* key, double microseconds) {
  return text(",\"", key, "\":", static_cast<int64_t>(microseconds * 1000));
}

std::string lane(int device, int32_t stream) { return text(",\"device\":", device, ",\"stream\":", stream); }

// The task's effect on memory, by parameter; the arguments in the trace do not distinguish inputs from outputs.
std::string body(Task& task, double begin, double end) {
  std::string written;
  for (const MemoryRange& range : task.memory_ranges()) {
    if (range.written) written += (written.empty() ? "" : ",") + trace::quote(range.what);
  }
  return text(",\"name\":", trace::quote(task.name()), at("begin", begin), at("end", end),
              ",\"bookkeeping\":", task.is_bookkeeping() ? 1 : 0, ",\"written\":[", written, "],\"args\":{",
              task.trace_args(), "}}");
}

// A profile that cannot go on ends, without memory or because a task cannot describe itself; the program goes on.
template <class Line>
void add(const Line& line) noexcept {
  if (!recording()) return;
  try {
    append(line());
  } catch (...) {  // of all callers none may throw
    stop_recording();
  }
}

class Recorder final : public Observer {
 public:
  void note_call(const std::string& name, double begin, double end) noexcept override {
    // Descriptors are made by the dozen for each operator; CANN's profiler does not show them either.
    for (const char* const helper : {"aclCreate", "aclDestroy", "aclrtStreamGetId"}) {
      if (name.rfind(helper, 0) == 0) return;
    }
    add([&] {
      return text("{\"kind\":\"call\",\"tid\":", thread_id(), ",\"name\":", trace::quote(name), at("begin", begin),
                  at("end", end), "}");
    });
  }

  void note_launch(const Stream& stream, uint64_t number, const char* name) noexcept override {
    add([&] {
      return text("{\"kind\":\"launch\",\"tid\":", thread_id(), ",\"name\":", trace::quote(name),
                  lane(stream.device(), stream.id()), ",\"number\":", number, at("time", trace::now()), "}");
    });
  }

  void note_task(const Stream& stream, uint64_t number, Task& task, double begin, double end) noexcept override {
    if (stream.id() < 0) return;  // a helper of a replay, whose tasks are noted one by one
    add([&] {
      return text("{\"kind\":\"task\",\"tid\":", thread_id(), lane(stream.device(), stream.id()),
                  ",\"number\":", number, body(task, begin, end));
    });
  }

  void note_replayed(int device, int32_t stream, uint64_t graph, Task& task, double begin,
                     double end) noexcept override {
    add([&] {
      return text("{\"kind\":\"replayed\",\"tid\":", thread_id(), lane(device, stream), ",\"graph\":", graph,
                  body(task, begin, end));
    });
  }
};

}  // namespace

bool recording() noexcept { return observer() != nullptr; }

void start_recording() noexcept {
  static auto* const instance = new Recorder();  // tasks may still end when the process does
  current_observer.store(instance);
}

void stop_recording() noexcept { current_observer.store(nullptr); }

void note_step(int device, int32_t stream, int tag) noexcept {
  add([&] {
    return text("{\"kind\":\"step\",\"tid\":", thread_id(), lane(device, stream), ",\"tag\":", tag,
                at("time", trace::now()), "}");
  });
}

void note_mark(int device, int32_t stream, const std::string& message) noexcept {
  add([&] {
    return text("{\"kind\":\"mark\",\"tid\":", thread_id(), lane(device, stream), ",\"name\":", trace::quote(message),
                at("time", trace::now()), "}");
  });
}

}  // namespace opwright::profiling
