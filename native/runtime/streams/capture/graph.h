// native/runtime/streams/capture/graph.h
// A captured graph (CANN: a model runtime instance): what a capture recorded, to be replayed any number of times.
//
// A lane is what one stream recorded, in order. Lanes are tied together by points: an event that one lane records and
// others wait for. A node is a task, the record of a point, or a wait for one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/order/order.h"
#include "runtime/streams/task.h"

namespace opwright {

struct Condition;
class TaskGroup;

struct Node {
  enum class Kind { kTask, kRecord, kWait };
  static constexpr size_t kNoGroup = static_cast<size_t>(-1);

  Kind kind;
  TaskPtr task;                  // of kTask
  size_t point = 0;              // of kRecord and kWait
  size_t group = kNoGroup;       // of a kTask that can be updated: which of the graph's groups
  std::vector<uint64_t> blocks;  // of a kTask: serial numbers of the memory behind each of its memory_ranges
  std::shared_ptr<const order::Captured> captured = nullptr;  // of a kTask, while the order is checked

  void set_task(TaskPtr new_task, std::vector<uint64_t> new_blocks);
};

// The serial numbers of the memory behind each of a task's memory_ranges.
std::vector<uint64_t> blocks_of(Task& task);

struct Lane {
  int32_t stream;  // that was captured
  std::vector<Node> nodes;
};

struct Point {
  size_t lane;
  const void* event;  // a name, maybe of an event that is gone
};

// A node by its place.
struct NodeId {
  size_t lane;
  size_t position;
};

class OPWRIGHT_API Graph {
 public:
  // `is_body`: of a conditional task; it is captured after it was made part of its parent.
  explicit Graph(int device, bool is_body = false);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  uint32_t id() const noexcept { return id_; }
  int device() const noexcept { return device_; }
  bool is_body() const noexcept { return is_body_; }

  // Written by the capture, then only read.
  std::vector<Lane> lanes;
  std::vector<Point> points;
  std::vector<NodeId> order;  // of recording, over all lanes: a possible order of execution
  std::vector<std::shared_ptr<TaskGroup>> groups;
  std::vector<std::shared_ptr<Condition>> conditions;
  std::vector<std::shared_ptr<Graph>> bodies;  // of conditional tasks

  size_t task_count() const noexcept;

  // Makes the graph empty again, after a capture that failed.
  void clear();

  enum class State { kEmpty, kCapturing, kReady };
  std::atomic<State> state{State::kEmpty};

  // One launch at a time: launches share the memory and the tasks.
  std::mutex launch_mutex;
  std::atomic<bool> is_running{false};

  // Throws unless all memory that the tasks use is still allocated. Looks only if memory was freed since the last time.
  // The caller holds launch_mutex.
  void check_memory();

 private:
  const uint32_t id_;
  const int device_;
  const bool is_body_;
  uint64_t checked_ = static_cast<uint64_t>(-1);  // memory::releases() at the last check
};

}  // namespace opwright
