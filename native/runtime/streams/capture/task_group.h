// native/runtime/streams/capture/task_group.h
// Tasks of a captured graph that can be replaced between and during launches, because an operator keeps host values
// (sequence lengths) in them. An update runs the host side of the operator again, on a stream of its own.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/handle.h"
#include "runtime/streams/capture/graph.h"
#include "runtime/streams/stream.h"

namespace opwright {

// A task that takes the place of a recorded one, and the memory that it was made for.
struct NewTask {
  TaskPtr task;
  std::vector<uint64_t> blocks;
  std::shared_ptr<const order::Captured> captured;  // null if nobody checks the order
};

class TaskGroup {
 public:
  TaskGroup(std::weak_ptr<Graph> graph, size_t lane) : graph_(std::move(graph)), lane_(lane) {}

  void add(size_t position) { positions_.push_back(position); }
  std::shared_ptr<Graph> graph() const { return graph_.lock(); }

  // Between the two no other update can begin. Throws 107033 if one is going on.
  void claim();
  void unclaim() noexcept { claimed_.store(false); }

  // The names of its operators, in order; nothing if its graph was destroyed.
  std::vector<std::string> names() const;
  // Reports new tasks to the order check. The program has replaced them from the end of the update on, the stream
  // does so later.
  void note_replacements(const std::vector<NewTask>& tasks);
  // Takes as many tasks as the group has.
  void replace(std::vector<NewTask> tasks);

  // Held while a task of the group runs or is looked at.
  std::mutex& mutex() const noexcept { return mutex_; }

 private:
  const std::weak_ptr<Graph> graph_;
  const size_t lane_;
  std::vector<size_t> positions_;
  mutable std::mutex mutex_;
  std::atomic<bool> claimed_{false};
};

Handles<TaskGroup>& task_groups();

// Holds the task of `node` in place; empty for nodes outside of groups.
std::unique_lock<std::mutex> lock_group(const Graph& graph, const Node& node);

// An update takes the operators of its group, in order. With any other task it is over: torch_npu leaves an update open
// when the operator in it raises, and whoever uses the stream then knows nothing of it. The stream runs that task, and
// the end of the update reports it.
void begin_update(Stream& stream, std::shared_ptr<TaskGroup> group);
// Replaces the tasks in the order of the stream: a launch that waits for an event recorded after this sees the new
// ones.
void end_update(Stream& stream);
// Forgets an update that was left open.
void drop_update(Stream& stream);
// For calls that wait for the stream: an update ends there. Throws 107033 if it has taken operators, which have not
// run.
void require_no_update(Stream& stream);

}  // namespace opwright
