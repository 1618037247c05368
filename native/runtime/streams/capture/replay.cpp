// native/runtime/streams/capture/replay.cpp
#include "runtime/streams/capture/replay.h"

#include <condition_variable>

#include "runtime/explore/explore.h"
#include "runtime/observer.h"
#include "runtime/order/order.h"
#include "runtime/settings.h"
#include "runtime/streams/capture/condition.h"
#include "runtime/streams/capture/task_group.h"
#include "runtime/trace.h"

namespace opwright {
namespace {

// Streams that replay the lanes other than the first. They belong to nobody between launches.
class LaneWorkers {
 public:
  std::shared_ptr<Stream> take(int device) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto it = idle_.begin(); it != idle_.end(); ++it) {
      if ((*it)->device() != device) continue;
      auto worker = std::move(*it);
      idle_.erase(it);
      return worker;
    }
    return std::make_shared<Stream>(device, --last_id_, /*priority=*/0);
  }
  void give(std::shared_ptr<Stream> worker) {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(worker));
  }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Stream>> idle_;
  int32_t last_id_ = 0;  // below 0: not a stream that a caller can name
};

LaneWorkers& lane_workers() {
  static auto* const instance = new LaneWorkers();  // their threads run until the process ends
  return *instance;
}

// One run through a graph.
class Launch {
 public:
  explicit Launch(Graph& graph) : graph_(graph) {}

  void run() {
    const size_t lanes = graph_.lanes.size();
    if (lanes == 1) {
      std::vector<Node>& nodes = graph_.lanes[0].nodes;
      for (size_t i = 0; i < nodes.size(); ++i) {
        if (i + 1 < nodes.size() && nodes[i + 1].group == Node::kNoGroup) fetch(nodes[i + 1]);
        run_task(nodes[i], 0);
      }
    } else if (settings().sync) {
      for (const auto [lane, position] : graph_.order) run_task(graph_.lanes[lane].nodes[position], lane);
    } else if (lanes > 1) {
      run_lanes();
    }
    if (failure_) throw Error(failure_->code, failure_->text);
  }

 private:
  // Tasks of a large graph are out of the cache when their turn comes again.
  static void fetch(const Node& node) noexcept {
    constexpr size_t kLine = 64;
    constexpr size_t kLines = 4;  // an executor with what its replay uses
    const char* const task = reinterpret_cast<const char*>(node.task.get());
    for (size_t line = 0; line < kLines; ++line) __builtin_prefetch(task + line * kLine);
  }

  void run_lanes() {
    reached_ = std::vector<std::atomic<bool>>(graph_.points.size());
    lanes_running_ = graph_.lanes.size() - 1;
    std::vector<std::shared_ptr<Stream>> workers;
    for (size_t lane = 1; lane < graph_.lanes.size(); ++lane) start_lane(lane, workers);
    run_lane(0);
    {
      std::unique_lock<std::mutex> lock(mutex_);
      wait(lock, "the end of all streams of a captured graph", [&] { return lanes_running_ == 0; });
    }
    for (auto& worker : workers) lane_workers().give(std::move(worker));
  }

  // The other lanes wait for this one, whatever happens: without a worker it only passes its points.
  void start_lane(size_t lane, std::vector<std::shared_ptr<Stream>>& workers) {
    const Stream* const caller = Stream::exchange_running_on(nullptr);
    Stream::exchange_running_on(caller);
    try {
      workers.push_back(lane_workers().take(graph_.device()));
      workers.back()->submit(make_bookkeeping("aclmdlRIExecuteAsync", [this, lane, caller] {
        const Stream* const outer = Stream::exchange_running_on(caller);
        run_lane(lane);
        Stream::exchange_running_on(outer);
        end_lane();
      }));
    } catch (...) {
      fail_with(record_current_exception("aclmdlRIExecuteAsync"));
      run_lane(lane, /*waits=*/false);
      end_lane();
    }
  }

  void end_lane() {
    const std::lock_guard<std::mutex> lock(mutex_);
    --lanes_running_;
    changed_.notify_all();
  }

  void run_lane(size_t lane, bool waits = true) {
    for (Node& node : graph_.lanes[lane].nodes) {
      switch (node.kind) {
        case Node::Kind::kTask:
          run_task(node, lane);
          break;
        case Node::Kind::kRecord:
          reach(node.point);
          break;
        case Node::Kind::kWait:
          if (waits) wait_for(node.point);
          break;
      }
    }
  }

  void reach(size_t point) {
    const std::lock_guard<std::mutex> lock(mutex_);
    reached_[point].store(true);
    changed_.notify_all();
  }

  void wait_for(size_t point) {
    if (reached_[point].load()) return;
    std::unique_lock<std::mutex> lock(mutex_);
    wait(lock, "another stream of a captured graph", [&] { return reached_[point].load(); });
  }

  // Until the launch is complete, whatever becomes of its stream: the lanes use this object.
  void wait(std::unique_lock<std::mutex>& lock, const char* what, const std::function<bool()>& done) {
    if (!explore::enabled()) return changed_.wait(lock, done);
    explore::wait_unlocked(lock, {what, explore::kAnyStream, done, /*ends_with_abort=*/false});
  }

  void run_task(Node& node, size_t lane) {
    if (node.kind != Node::Kind::kTask) return;
    explore::pause_task();
    const auto lock = lock_group(graph_, node);
    Task& task = *node.task;
    if (failed_.load(std::memory_order_relaxed) && !task.is_bookkeeping()) return;
    const bool traced = trace::enabled();
    const double begin = traced ? trace::now() : 0;
    const Task* const outer = Stream::exchange_current_task(&task);
    try {
      task.run();
    } catch (...) {
      fail_with(record_current_exception(task.name()));
    }
    Stream::exchange_current_task(outer);
    if (traced) write_trace(task, lane, begin);
  }

  void fail_with(int code) {
    const std::string message = take_recent_message();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_) failure_ = Failure{code, message};
    failed_.store(true);
  }

  void write_trace(Task& task, size_t lane, double begin) const {
    if (Observer* const o = observer()) {
      o->note_replayed(graph_.device(), graph_.lanes[lane].stream, static_cast<uint64_t>(graph_.id()), task, begin,
                       trace::now());
    }
    const std::string args = task.trace_args();
    trace::write(
        "replay", task.name(), begin, trace::now(),
        text("\"graph\":", graph_.id(), ",\"stream\":", graph_.lanes[lane].stream, args.empty() ? "" : ",", args));
  }

  Graph& graph_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::atomic<bool>> reached_;  // by point
  size_t lanes_running_ = 0;
  std::optional<Failure> failure_;
  std::atomic<bool> failed_{false};
};

// A launch that has parts lets others run between them, and they may not wait for the mutex.
class Running {
 public:
  explicit Running(Graph& graph) : graph_(graph) { graph_.is_running.store(true); }
  ~Running() { graph_.is_running.store(false); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Graph& graph_;
};

class LaunchTask final : public Task {
 public:
  explicit LaunchTask(std::shared_ptr<Graph> graph) : graph_(std::move(graph)) {}
  void run() override { run_graph(*graph_); }
  const char* name() const noexcept override { return "aclmdlRIExecuteAsync"; }
  std::string trace_args() const override {
    return text("\"graph\":", graph_->id(), ",\"tasks\":", graph_->task_count());
  }

 private:
  const std::shared_ptr<Graph> graph_;
};

// Bodies of conditional tasks are left out: whether they run is not known yet.
void note_order(const Graph& graph, const Stream& stream) {
  order::Replay replay(stream, graph.lanes.size(), graph.points.size());
  for (const auto [lane, position] : graph.order) {
    const Node& node = graph.lanes[lane].nodes[position];
    switch (node.kind) {
      case Node::Kind::kTask: {
        const auto lock = lock_group(graph, node);
        replay.note_launch(lane, *node.task, *node.captured);
        break;
      }
      case Node::Kind::kRecord:
        replay.record(lane, node.point);
        break;
      case Node::Kind::kWait:
        replay.wait(lane, node.point);
        break;
    }
  }
}

}  // namespace

void launch(const std::shared_ptr<Graph>& graph, Stream& stream) {
  if (order::enabled() && stream.sink() == nullptr) note_order(*graph, stream);
  stream.submit(std::make_unique<LaunchTask>(graph));
}

void run_graph(Graph& graph) {
  if (explore::enabled()) {
    explore::wait({"another launch of the same graph", explore::kAnyStream, [&] { return !graph.is_running.load(); }});
  }
  const std::lock_guard<std::mutex> running(graph.launch_mutex);
  const Running mark(graph);
  graph.check_memory();
  for (const auto& condition : graph.conditions) condition->reset();
  Launch(graph).run();
}

}  // namespace opwright
