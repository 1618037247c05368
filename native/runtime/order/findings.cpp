#include "runtime/order/findings.h"

#include <unistd.h>

#include <mutex>
#include <set>

#include "runtime/trace.h"

namespace opwright::order {
namespace {

constexpr size_t kMostKept = 1024;

struct Findings {
  std::mutex mutex;
  std::set<std::string> known;
  std::string untaken;  // JSON objects, with commas between them
};

Findings& findings() {
  static Findings* const instance = new Findings();
  return *instance;
}

std::string place_of(const Launch& launch) {
  return launch.stream < 0 ? "the host" : text("stream ", launch.stream, " of device ", launch.device);
}

const char* verb_of(const Access& access) {
  return access.written ? access.read ? "reads and writes" : "writes" : "reads";
}

size_t bytes_of(const Access& access) { return access.repeats.empty() ? access.bytes : access.runs() * access.run; }

std::string line_of(const Access& access) {
  std::string result =
      text("  ", access.launch->function, " on ", place_of(*access.launch), " ", verb_of(access), " ", access.operand,
           ", ", bytes_of(access), " bytes at ", reinterpret_cast<void*>(access.begin));
  size_t at = 0;
  while (at < access.launch->lines.size()) {
    const size_t end = access.launch->lines.find('\n', at);
    result += "\n      " + access.launch->lines.substr(at, end == std::string::npos ? end : end - at);
    at = end == std::string::npos ? access.launch->lines.size() : end + 1;
  }
  return result + "\n";
}

std::string remedy_for(const Launch& earlier, const Launch& later) {
  if (later.stream < 0) return text("the host does not wait for ", place_of(earlier), ": synchronize it first");
  const std::string other = earlier.device == later.device ? "" : text(" of device ", earlier.device);
  return text("stream ", later.stream, " does not wait for stream ", earlier.stream, other,
              ": an event that is recorded behind the first and waited for before the second (wait_stream), or, if the "
              "two are different tensors, Tensor.record_stream before the first one is freed");
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
  return text(access.launch->function, '\n', access.operand, '\n', place_of(*access.launch), '\n',
              access.launch->lines);
}

}  // namespace

void report(const Access& earlier, const Access& later) {
  const std::string words = text("opwright: nothing orders ", earlier.launch->function, " and ", later.launch->function,
                                 ", which use the same memory\n", line_of(earlier), line_of(later), "  ",
                                 remedy_for(*earlier.launch, *later.launch), "\n");
  {
    const std::lock_guard<std::mutex> lock(findings().mutex);
    if (findings().known.size() == kMostKept) return;  // the first ones say most
    if (!findings().known.insert(identity_of(earlier) + '\n' + identity_of(later)).second) return;
    std::string& untaken = findings().untaken;
    untaken += text(untaken.empty() ? "" : ",", "{\"earlier\":", json_of(earlier), ",\"later\":", json_of(later), "}");
  }
  (void)!write(STDERR_FILENO, words.data(), words.size());
}

}  // namespace opwright::order

// Answers what was found since the last time, as JSON; the text lives until the thread's next call.
extern "C" OPWRIGHT_API const char* opwright_order_take() {
  using opwright::order::findings;
  thread_local std::string taken;
  const std::lock_guard<std::mutex> lock(findings().mutex);
  taken = "[" + findings().untaken + "]";
  findings().untaken.clear();
  return taken.c_str();
}
