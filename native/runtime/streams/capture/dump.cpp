// native/runtime/streams/capture/dump.cpp
// Names, types and durations are those of CANN (hicann/runtime 681ef7610, runtime/core/src/stream/stream.cc).
#include "runtime/streams/capture/dump.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "runtime/memory/memory.h"
#include "runtime/settings.h"
#include "runtime/streams/capture/task_group.h"
#include "runtime/trace.h"

namespace opwright::dump {
namespace {

struct TaskType {
  const char* name;
  double duration;
  double step;  // to the start of the next task of the stream
};

constexpr TaskType kRecord{"EVENT_RECORD", 4.5, 5};
constexpr TaskType kWait{"EVENT_WAIT", 14.5, 15};
// The twin has no cores whose kind it could name.
constexpr TaskType kKernel{"KERNEL_AICORE", 9.5, 10};

constexpr const char* kConditional = "aclmdlRIAddCondTask";

// The types of tasks that ACL functions make; all others are operators.
const TaskType& type_of(const Task& task) {
  static const std::map<std::string, TaskType> kTypes{
      {"aclrtMemcpyAsync", {"MEMCPY_ASYNC", 9.5, 10}},
      {"aclrtMemcpyAsyncWithCondition", {"MEMCPY_ASYNC", 9.5, 10}},
      {"aclrtMemsetAsync", {"MEMSET_ASYNC", 9.5, 10}},
      {"aclrtLaunchCallback", {"HOSTFUNC_CALLBACK", 9.5, 10}},
      {"aclrtLaunchHostFunc", {"HOSTFUNC_CALLBACK", 9.5, 10}},
      {kConditional, {"CONDITION_OP", 9.5, 10}},
      {"aclrtRecordEvent", kRecord},  // of an external event; others are nodes of their own kind
      {"aclrtStreamWaitEvent", kWait},
      {"aclrtResetEvent", {"EVENT_RESET", 9.5, 10}},
      {"aclrtValueWrite", {"MEM_WRITE_VALUE", 4.5, 5}},
      {"aclrtValueWait", {"MEM_WAIT_VALUE", 14.5, 15}},
  };
  const auto it = kTypes.find(task.name());
  return it == kTypes.end() ? kKernel : it->second;
}

// The name of an event or value task is its type, as with CANN.
bool is_named_by_type(const TaskType& type) {
  return std::strncmp(type.name, "EVENT_", 6) == 0 || std::strncmp(type.name, "MEM_", 4) == 0;
}

std::string memory_of(Task& task) {
  std::string result;
  for (const MemoryRange& range : task.memory_ranges()) {
    result += text(result.empty() ? "" : ",", "{\"Parameter\":", trace::quote(range.what), ",\"Address\":\"",
                   range.address, "\",\"Bytes\":", range.bytes, ",\"Access\":\"",
                   !range.written ? "read"
                   : range.read   ? "read and write"
                                  : "write",
                   "\"", memory::is_device_address(range.address) ? "" : ",\"Host\":true", "}");
  }
  return result;
}

// Writes the events of one graph, in the order of recording.
class Writer {
 public:
  Writer(Graph& graph, bool verbose)
      : graph_(graph), verbose_(verbose), places_(graph.lanes.size(), 0), record_ids_(graph.points.size(), 0) {}

  std::string write() {
    result_ = "[\n" + head();
    for (size_t id = 0; id < graph_.order.size(); ++id) {
      const auto [lane, position] = graph_.order[id];
      add(id, lane, graph_.lanes[lane].nodes[position]);
    }
    return result_ + "\n]\n";
  }

 private:
  // A length and a row of its own, because torch_npu's tools add up the times of all events, row by row.
  std::string head() const {
    std::string bodies;
    for (const auto& body : graph_.bodies) bodies += text(bodies.empty() ? "" : ",", body->id());
    return text("{\"name\":\"process_name\",\"pid\":\"", getpid(),
                " aclGraph\",\"tid\":\"graph\",\"ts\":0,\"dur\":0,\"ph\":\"M\",\"args\":{\"name\":\"NPU graph ",
                graph_.id(), " on npu:", graph_.device(), "\",\"Model Id\":", graph_.id(),
                ",\"Device Id\":", graph_.device(), ",\"Verbose\":", verbose_ ? "true" : "false",
                ",\"Body Model Ids\":[", bodies, "]}}");
  }

  void add(size_t id, size_t lane, Node& node) {
    switch (node.kind) {
      case Node::Kind::kTask:
        return add_task(id, lane, node);
      case Node::Kind::kRecord:
        record_ids_[node.point] = id;
        return event(id, lane, text(kRecord.name, "_", node.point), kRecord, "");
      case Node::Kind::kWait:
        return event(id, lane, text(kWait.name, "_", node.point), kWait,
                     text(",\"Waits For\":", record_ids_[node.point]));
    }
  }

  void add_task(size_t id, size_t lane, Node& node) {
    const auto lock = lock_group(graph_, node);
    Task& task = *node.task;
    const TaskType& type = type_of(task);
    std::string more;
    if (node.group != Node::kNoGroup) more += text(",\"Task Group\":", node.group);
    if (verbose_) more += text(",\"Arguments\":{", task.trace_args(), "},\"Memory\":[", memory_of(task), "]");
    event(id, lane, is_named_by_type(type) ? type.name : task.name(), type, more);
  }

  // `more` is what follows inside of the arguments.
  void event(size_t id, size_t lane, const std::string& name, const TaskType& type, const std::string& more) {
    const int32_t stream = graph_.lanes[lane].stream;
    result_ += text(",\n{\"name\":", trace::quote(name), ",\"pid\":\"", getpid(), " aclGraph\",\"tid\":\"stream",
                    stream, "\",\"ts\":", places_[lane], ",\"dur\":", type.duration,
                    ",\"ph\":\"X\",\"args\":{\"Model Id\":", graph_.id(), ",\"Stream Id\":", stream,
                    ",\"Task Id\":", id, ",\"Task Type\":\"", type.name, "\"", more, "}}");
    places_[lane] += static_cast<uint64_t>(type.step);
  }

  Graph& graph_;
  const bool verbose_;
  std::vector<uint64_t> places_;    // by lane: where its next event starts
  std::vector<size_t> record_ids_;  // by point
  std::string result_;
};

[[noreturn]] void refuse(const std::string& path) {
  const int error = errno;
  fail(ACL_ERROR_RT_PARAM_INVALID, "'", path, "' cannot be written: ", std::strerror(error));
}

// Writes all and closes. Throws 107000, with the name of `path`, if the disk is full.
void write_and_close(int descriptor, const std::string& content, const std::string& path) {
  for (size_t begin = 0; begin < content.size();) {
    const ssize_t count = ::write(descriptor, content.data() + begin, content.size() - begin);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int error = errno;
      ::close(descriptor);
      errno = error;
      refuse(path);
    }
    begin += static_cast<size_t>(count);
  }
  if (::close(descriptor) != 0) refuse(path);
}

// A device or a pipe, such as /dev/null, is written where it is: a file in its place would end it for everybody.
bool is_special(const std::string& path) {
  std::error_code none;
  const auto status = std::filesystem::status(path, none);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

void write_in_place(const std::string& path, const std::string& content) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) refuse(path);
  write_and_close(descriptor, content, path);
}

// A file beside `path` that takes its place when it is complete.
class Replacement {
 public:
  explicit Replacement(const std::string& path) : path_(path), name_(path + ".XXXXXX") {
    descriptor_ = ::mkstemp(name_.data());  // for the owner only
    if (descriptor_ < 0) refuse(path_);
  }
  ~Replacement() {
    if (!done_) ::unlink(name_.c_str());
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  void write(const std::string& content) {
    write_and_close(descriptor_, content, path_);
    if (::rename(name_.c_str(), path_.c_str()) != 0) refuse(path_);
    done_ = true;
  }

 private:
  const std::string path_;
  std::string name_;
  int descriptor_;
  bool done_ = false;
};

void say(const std::string& line) { std::fprintf(stderr, "opwright: %s\n", line.c_str()); }

}  // namespace

std::string to_json(Graph& graph, bool verbose) { return Writer(graph, verbose).write(); }

void write_json(Graph& graph, const std::string& path, bool verbose) {
  const std::string content = to_json(graph, verbose);
  if (is_special(path)) return write_in_place(path, content);
  // The file that a link names is replaced, not the link.
  std::error_code none;
  const bool link = std::filesystem::is_symlink(path, none);
  Replacement(link ? std::filesystem::weakly_canonical(path).string() : path).write(content);
}

void print(Graph& graph) {
  for (size_t id = 0; id < graph.order.size(); ++id) {
    const auto [lane, position] = graph.order[id];
    Node& node = graph.lanes[lane].nodes[position];
    std::string what;
    switch (node.kind) {
      case Node::Kind::kTask: {
        const auto lock = lock_group(graph, node);
        what = node.task->name();
        break;
      }
      case Node::Kind::kRecord:
        what = text("records event ", node.point);
        break;
      case Node::Kind::kWait:
        what = text("waits for event ", node.point);
        break;
    }
    say(text("graph ", graph.id(), ", device ", graph.device(), ", stream ", graph.lanes[lane].stream, ", task ", id,
             ": ", what));
  }
}

void write_if_wanted(Graph& graph) noexcept {
  static std::atomic<uint32_t> count{0};
  try {
    const std::string& folder = settings().graph_dump_folder;
    if (folder.empty()) return;
    // The reader orders the files by their numbers.
    write_json(graph, text(folder, "/graph-", getpid(), "-", count.fetch_add(1), ".json"), /*verbose=*/true);
  } catch (const std::exception& error) {
    say(text("OPWRIGHT_GRAPH_DUMP: ", error.what()));  // the program needs the graph more than its dump
  }
}

}  // namespace opwright::dump
