// native/runtime/capture/task_group.cpp
#include "runtime/capture/task_group.h"

#include <cstring>

namespace opwright {
namespace {

// Collects what the host side of the group's operators submits again.
class GroupUpdate final : public TaskSink {
 public:
  explicit GroupUpdate(std::shared_ptr<TaskGroup> group) : group_(std::move(group)) {}
  ~GroupUpdate() override { group_->unclaim(); }

  void take(Stream&, TaskPtr task) override {
    require(!task->is_bookkeeping(), ACL_ERROR_STREAM_TASK_GROUP_STATUS, task->name(),
            " cannot be part of an update: only operators and copies can");
    const std::lock_guard<std::mutex> lock(mutex_);
    task->expect_replays();
    auto blocks = blocks_of(*task);
    tasks_.push_back({std::move(task), std::move(blocks)});
  }

  void spoil(const char* function, const Error& error) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_) failure_.emplace(error.code(), text(function, ": ", error.text()));
  }

  // The new tasks, or the first failure.
  std::vector<NewTask> finish() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (failure_) throw Error(*failure_);
    group_->check(tasks_);
    return std::move(tasks_);
  }

  const std::shared_ptr<TaskGroup>& group() const noexcept { return group_; }

 private:
  const std::shared_ptr<TaskGroup> group_;
  std::mutex mutex_;
  std::vector<NewTask> tasks_;
  std::optional<Error> failure_;
};

std::string names(const std::vector<const Task*>& tasks) {
  std::string result;
  for (const Task* task : tasks) result += (result.empty() ? "" : ", ") + std::string(task->name());
  return result.empty() ? "nothing" : result;
}

}  // namespace

Handles<TaskGroup>& task_groups() {
  static auto* const instance = new Handles<TaskGroup>("task group", ACL_ERROR_STREAM_TASK_GROUP_STATUS);
  return *instance;
}

void TaskGroup::claim() {
  require(!claimed_.exchange(true), ACL_ERROR_STREAM_TASK_GROUP_STATUS, "this task group is being updated already");
}

void TaskGroup::check(const std::vector<NewTask>& tasks) const {
  const auto graph = graph_.lock();
  require(graph != nullptr, ACL_ERROR_STREAM_TASK_GROUP_STATUS, "the graph of this task group was destroyed");
  std::vector<const Task*> recorded;
  std::vector<const Task*> given;
  for (const NewTask& added : tasks) given.push_back(added.task.get());
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const size_t position : positions_) recorded.push_back(graph->lanes[lane_].nodes[position].task.get());
  bool same = recorded.size() == given.size();
  for (size_t i = 0; same && i < given.size(); ++i) same = std::strcmp(recorded[i]->name(), given[i]->name()) == 0;
  require(same, ACL_ERROR_STREAM_TASK_GROUP_STATUS, "the update runs ", names(given), ", but the task group holds ",
          names(recorded), "; call the operators that were recorded, in the same order");
}

void TaskGroup::replace(std::vector<NewTask> tasks) {
  const auto graph = graph_.lock();
  if (graph == nullptr) return;  // destroyed meanwhile: nobody will run the tasks
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < positions_.size(); ++i) {
    graph->lanes[lane_].nodes[positions_[i]].set_task(std::move(tasks[i].task), std::move(tasks[i].blocks));
  }
}

std::unique_lock<std::mutex> lock_group(const Graph& graph, const Node& node) {
  if (node.group == Node::kNoGroup) return {};
  return std::unique_lock<std::mutex>(graph.groups[node.group]->mutex());
}

void begin_update(Stream& stream, std::shared_ptr<TaskGroup> group) {
  const auto graph = group->graph();
  require(graph != nullptr && graph->state.load() == Graph::State::kReady, ACL_ERROR_STREAM_TASK_GROUP_STATUS,
          "the graph of this task group ", graph == nullptr ? "was destroyed" : "is still being captured");
  require(graph->device() == stream.device(), ACL_ERROR_RT_STREAM_CONTEXT, "the graph belongs to device ",
          graph->device(), ", but the stream belongs to device ", stream.device());
  // torch_npu leaves an update open when the operator in it raises; it is dropped, or no later update would work.
  if (std::dynamic_pointer_cast<GroupUpdate>(stream.sink()) != nullptr) stream.end_diversion();
  group->claim();
  require(stream.divert(std::make_shared<GroupUpdate>(std::move(group))), ACL_ERROR_RT_STREAM_CAPTURED, "stream ",
          stream.id(), " is being captured");
}

void end_update(Stream& stream) {
  const auto update = std::dynamic_pointer_cast<GroupUpdate>(stream.sink());
  require(update != nullptr, ACL_ERROR_STREAM_TASK_GROUP_STATUS, "stream ", stream.id(),
          " updates no task group; call aclmdlRICaptureTaskUpdateBegin first");
  stream.end_diversion();
  // A callable that is copied cannot own unique pointers.
  auto tasks = std::make_shared<std::vector<NewTask>>(update->finish());
  stream.submit(make_bookkeeping("aclmdlRICaptureTaskUpdateEnd",
                                 [group = update->group(), tasks] { group->replace(std::move(*tasks)); }));
}

}  // namespace opwright
