#include "runtime/order/findings.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "runtime/explore/explore.h"
#include "runtime/explore/log.h"
#include "runtime/order/order.h"
#include "runtime/order/python_lines.h"
#include "runtime/trace.h"

namespace opwright::order {
namespace {

constexpr size_t kMostKept = 1024;

struct Findings {
  std::mutex mutex;
  std::set<std::string> known;
  std::string untaken;  // JSON objects, with commas between them
};

Findings& findings();

// Findings of forked processes that nobody has taken. A page that all of them share; null before the first fork.
struct ForkedFindings {
  std::atomic<uint64_t> untaken{0};
};
ForkedFindings* forked = nullptr;
bool is_forked = false;
uint64_t added_to_forked = 0;  // by this process, under the mutex of its findings

// Handlers of the end run in the reverse order of their registration, so this one runs after those that the program
// registers.
void end_with_findings(int status, void*) {
  const bool in_forked = forked != nullptr && forked->untaken.load() != 0;
  if (status != 0 || explore::enabled() || (findings().untaken.empty() && !in_forked)) return;
  std::fflush(nullptr);
  _exit(kExitStatus);
}

Findings& findings() {
  static Findings* const instance = [] {
    on_exit(end_with_findings, nullptr);
    return new Findings();
  }();
  return *instance;
}

// The variable itself: `enabled` reads it once, and a process that forks others may set it in these.
bool is_on_in_children() noexcept {
  const char* const value = std::getenv("OPWRIGHT_ORDER");
  return value != nullptr && std::strcmp(value, "1") == 0;
}

ForkedFindings* map_forked_findings() {
  findings();  // with its handler of the end
  void* const page = mmap(nullptr, sizeof(ForkedFindings), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? nullptr : new (page) ForkedFindings();
}

void prepare_fork() {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  if (forked == nullptr && is_on_in_children()) forked = map_forked_findings();
}

void note_forked() {
  is_forked = true;
  added_to_forked = 0;
}

// Python's multiprocessing forks processes that have loaded this library and used nothing of it.
const int following_forks = pthread_atfork(prepare_fork, nullptr, note_forked);

std::string place_of(const Launch& launch) {
  return launch.stream < 0 ? "the host" : text("stream ", launch.stream, " of device ", launch.device);
}

const char* verb_of(const Access& access) {
  return access.written ? access.read ? "reads and writes" : "writes" : "reads";
}

size_t bytes_of(const Access& access) { return access.repeats.empty() ? access.bytes : access.runs() * access.run; }

std::string line_of(const Access& access) {
  const std::string bytes = access.bytes == 0 ? "" : text(", ", bytes_of(access), " bytes");
  std::string result = text("  ", access.launch->function, " on ", place_of(*access.launch), " ", verb_of(access), " ",
                            access.operand, bytes, " at ", reinterpret_cast<void*>(access.begin));
  return result + "\n" + indent(access.launch->lines);
}

std::string remedy_for(const Access& earlier, const Access& later) {
  const std::string behind = place_of(*earlier.launch);
  const bool is_of_host = later.launch->stream < 0;
  const std::string waiter = is_of_host ? text("the host does not wait for ", behind)
                                        : text("stream ", later.launch->stream, " does not wait for ", behind);
  const std::string wait =
      is_of_host ? "synchronize it first"
                 : "an event that is recorded behind the first and waited for before the second (wait_stream)";
  const char* const keep = "Tensor.record_stream before the first one is freed";
  const bool is_known = earlier.tensor != 0 && later.tensor != 0;
  if (is_known && earlier.tensor != later.tensor) {
    return text(waiter, ", and the memory has gone from one tensor to another meanwhile: ", keep, ", or ", wait);
  }
  if (is_known || is_of_host) return text(waiter, ": ", wait);
  return text(waiter, ": ", wait, ", or, if the two are different tensors, ", keep);
}

std::string json_of(const Access& access) {
  const Launch& launch = *access.launch;
  std::string members;
  trace::append_member(members, "function", trace::quote(launch.function));
  trace::append_member(members, "device", std::to_string(launch.device));
  trace::append_member(members, "stream", std::to_string(launch.stream));
  trace::append_member(members, "operand", trace::quote(access.operand));
  trace::append_member(members, "address", std::to_string(access.begin));
  trace::append_member(members, "size", std::to_string(bytes_of(access)));
  trace::append_member(members, "reads", access.read ? "true" : "false");
  trace::append_member(members, "writes", access.written ? "true" : "false");
  trace::append_member(members, "lines", trace::quote(launch.lines));
  return "{" + members + "}";
}

std::string identity_of(const Access& access) {
  return text(access.launch->function, '\n', place_of(*access.launch), '\n', access.launch->lines);
}

void add(const Access& earlier, const Access& later, const std::string& words) {
  {
    const std::lock_guard<std::mutex> lock(findings().mutex);
    if (findings().known.size() == kMostKept) return;  // the first ones say most
    if (!findings().known.insert(identity_of(earlier) + '\n' + identity_of(later)).second) return;
    std::string members;
    trace::append_member(members, "text", trace::quote(words));
    trace::append_member(members, "earlier", json_of(earlier));
    trace::append_member(members, "later", json_of(later));
    findings().untaken += text(findings().untaken.empty() ? "" : ",", "{", members, "}");
    if (is_forked && forked != nullptr) {
      ++added_to_forked;
      forked->untaken.fetch_add(1);
    }
  }
  const std::string line = "opwright: " + words;
  (void)!write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void report(const Access& earlier, const Access& later, const std::string& last_wait) {
  const Launch& first = *earlier.launch;
  const Launch& second = *later.launch;
  if (first.task != 0 && second.task != 0) {
    explore::event_log().write_race({first.stream, first.task, 0}, {second.stream, second.task, 0});
  }
  add(earlier, later,
      text("nothing orders ", earlier.launch->function, " and ", later.launch->function,
           ", which use the same memory\n", line_of(earlier), line_of(later), "  ", remedy_for(earlier, later), "\n",
           last_wait));
}

void report_freed(const Access& access, const std::string& freed_at) {
  const auto free = std::make_shared<const Launch>(Launch{-1, -1, 0, 0, "free", freed_at});
  const Access end{free, "the tensor", access.begin, 0, false, true, 0, {}};
  add(end, access,
      text(access.launch->function, " of a captured graph uses memory that was freed after the capture\n",
           line_of(access), "  its tensor was freed\n", indent(freed_at),
           "  keep the tensors that a graph is captured with as long as it is replayed, and copy new values into "
           "them\n"));
}

void report_lost_set(const Launch& clear, const Launch& set) {
  const auto access = [](const Launch& launch) {
    return Access{std::make_shared<const Launch>(launch), "the event", 0, 0, false, true, 0, {}};
  };
  const auto line = [](const Launch& launch, const char* does) {
    return text("  ", launch.function, " on ", place_of(launch), " ", does, "\n", indent(launch.lines));
  };
  const std::string waiter = place_of(set);
  add(access(clear), access(set),
      text("nothing orders the reset of an external event and its next record\n", line(clear, "resets it"),
           line(set, "records it anew"), "  ", waiter, " does not wait for ", place_of(clear),
           ": if the record comes first, the reset takes it away, and the next wait for the event does not end. ",
           "Record it behind what ", place_of(clear), " was given before (wait_stream)\n"));
}

void report_entries(const Launch& first, const Launch& second, const OtherRank& other) {
  const auto access = [](const Launch& launch) {
    return Access{std::make_shared<const Launch>(launch), "the order of ranks", 0, 0, false, false, 0, {}};
  };
  std::string words = text("ranks enter collectives in different order\n  ", first.function, " on ", place_of(first),
                           " comes first here\n", indent(first.lines), "  ", second.function, " comes first on ",
                           other.name, "\n", indent(other.lines));
  if (second.stream >= 0) words += text("  here it comes later, on ", place_of(second), "\n", indent(second.lines));
  words += "  each rank may wait in its first one for the others: launch them in the same order on all ranks\n";
  add(access(first), access(second), words);
}

}  // namespace opwright::order

extern "C" OPWRIGHT_API int opwright_order_enabled() { return opwright::order::enabled() ? 1 : 0; }

// Answers what was found since the last time, as JSON, and forgets it; the text lives until the thread's next call.
extern "C" OPWRIGHT_API const char* opwright_order_take() {
  using namespace opwright::order;
  thread_local std::string taken;
  const std::lock_guard<std::mutex> lock(findings().mutex);
  taken = "[" + findings().untaken + "]";
  findings().untaken.clear();
  if (forked != nullptr) forked->untaken.fetch_sub(std::exchange(added_to_forked, 0));
  findings().known.clear();
  return taken.c_str();
}
