// native/runtime/streams/capture/task_group.cpp
#include "runtime/streams/capture/task_group.h"

#include <string>

namespace opwright {
namespace {

// Collects what the host side of the group's operators submits again.
class GroupUpdate final : public TaskSink {
 public:
  explicit GroupUpdate(std::shared_ptr<TaskGroup> group) : group_(std::move(group)), recorded_(group_->names()) {}
  ~GroupUpdate() override { group_->unclaim(); }

  TaskPtr take(Stream&, TaskPtr task) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    given_.emplace_back(task->name());
    const size_t number = given_.size();
    if (over_ || number > recorded_.size() || given_.back() != recorded_[number - 1]) {
      over_ = true;
      return task;
    }
    task->expect_replays();
    auto blocks = blocks_of(*task);
    auto replacement = order::note_replacement(*task);
    tasks_.push_back({std::move(task), std::move(blocks), std::move(replacement)});
    return nullptr;
  }

  bool is_over() const noexcept override { return over_.load(); }

  void spoil(const char* function, const Error& error) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_) failure_.emplace(error.code(), text(function, ": ", error.text()));
  }

  // The new tasks, or the first failure.
  std::vector<NewTask> finish() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (failure_) throw Error(*failure_);
    require(group_->graph() != nullptr, ACL_ERROR_STREAM_TASK_GROUP_STATUS,
            "the graph of this task group was destroyed");
    require(given_ == recorded_, ACL_ERROR_STREAM_TASK_GROUP_STATUS, "the update runs ", listed(given_),
            ", but the task group holds ", listed(recorded_),
            "; call the operators that were recorded, in the same order");
    return std::move(tasks_);
  }

  // The operators that it has taken, in one text; empty if there are none.
  std::string taken() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return tasks_.empty() ? "" : listed({given_.begin(), given_.begin() + static_cast<ptrdiff_t>(tasks_.size())});
  }

  const std::shared_ptr<TaskGroup>& group() const noexcept { return group_; }

 private:
  static std::string listed(const std::vector<std::string>& names) {
    std::string result;
    for (const std::string& name : names) result += (result.empty() ? "" : ", ") + name;
    return result.empty() ? "nothing" : result;
  }

  const std::shared_ptr<TaskGroup> group_;
  const std::vector<std::string> recorded_;
  std::atomic<bool> over_{false};
  mutable std::mutex mutex_;
  std::vector<NewTask> tasks_;
  std::vector<std::string> given_;  // names of what came, up to the first that the group does not hold
  std::optional<Error> failure_;
};

std::shared_ptr<GroupUpdate> update_of(const Stream& stream) {
  return std::dynamic_pointer_cast<GroupUpdate>(stream.diversion());
}

}  // namespace

Handles<TaskGroup>& task_groups() {
  static auto* const instance = new Handles<TaskGroup>("task group", ACL_ERROR_STREAM_TASK_GROUP_STATUS);
  return *instance;
}

void TaskGroup::claim() {
  require(!claimed_.exchange(true), ACL_ERROR_STREAM_TASK_GROUP_STATUS, "this task group is being updated already");
}

std::vector<std::string> TaskGroup::names() const {
  std::vector<std::string> result;
  const auto graph = graph_.lock();
  if (graph == nullptr) return result;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const size_t position : positions_) result.push_back(graph->lanes[lane_].nodes[position].task->name());
  return result;
}

void TaskGroup::note_replacements(const std::vector<NewTask>& tasks) {
  const auto graph = graph_.lock();
  if (graph == nullptr) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < positions_.size(); ++i) {
    auto& captured = graph->lanes[lane_].nodes[positions_[i]].captured;
    if (captured != nullptr && tasks[i].captured != nullptr) captured = order::replace(*captured, *tasks[i].captured);
  }
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
  drop_update(stream);
  group->claim();
  require(stream.divert(std::make_shared<GroupUpdate>(std::move(group))), ACL_ERROR_RT_STREAM_CAPTURED, "stream ",
          stream.id(), " is being captured");
}

void end_update(Stream& stream) {
  const auto update = update_of(stream);
  require(update != nullptr, ACL_ERROR_STREAM_TASK_GROUP_STATUS, "stream ", stream.id(),
          " updates no task group; call aclmdlRICaptureTaskUpdateBegin first");
  stream.end_diversion();
  // A callable that is copied cannot own unique pointers.
  auto tasks = std::make_shared<std::vector<NewTask>>(update->finish());
  update->group()->note_replacements(*tasks);
  stream.submit(make_bookkeeping("aclmdlRICaptureTaskUpdateEnd",
                                 [group = update->group(), tasks] { group->replace(std::move(*tasks)); }));
}

void drop_update(Stream& stream) {
  if (update_of(stream) != nullptr) stream.end_diversion();
}

void require_no_update(Stream& stream) {
  const auto update = update_of(stream);
  if (update == nullptr) return;
  stream.end_diversion();
  const std::string taken = update->taken();
  require(taken.empty(), ACL_ERROR_STREAM_TASK_GROUP_STATUS, "stream ", stream.id(),
          " was left in an update of a task group, which took ", taken,
          " and did not run it; end each update with aclmdlRICaptureTaskUpdateEnd. The stream works again");
}

}  // namespace opwright
