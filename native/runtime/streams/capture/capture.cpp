// native/runtime/streams/capture/capture.cpp
#include "runtime/streams/capture/capture.h"

#include <algorithm>

#include "runtime/device.h"
#include "runtime/streams/capture/condition.h"
#include "runtime/streams/capture/task_group.h"
#include "runtime/streams/consumer_thread.h"
#include "runtime/trace.h"

namespace opwright {
namespace {

// All captures that go on.
struct Ongoing {
  std::mutex mutex;
  std::vector<std::shared_ptr<Capture>> captures;
  std::atomic<size_t> count{0};  // spares callers the mutex

  void add(std::shared_ptr<Capture> capture) {
    const std::lock_guard<std::mutex> lock(mutex);
    captures.push_back(std::move(capture));
    count.store(captures.size());
  }
  void remove(const Capture* capture) {
    const std::lock_guard<std::mutex> lock(mutex);
    captures.erase(std::remove_if(captures.begin(), captures.end(),
                                  [&](const std::shared_ptr<Capture>& entry) { return entry.get() == capture; }),
                   captures.end());
    count.store(captures.size());
  }
  std::vector<std::shared_ptr<Capture>> all() {
    const std::lock_guard<std::mutex> lock(mutex);
    return captures;
  }
};

Ongoing& ongoing_captures() {
  static Ongoing* const instance = new Ongoing();
  return *instance;
}

thread_local aclmdlRICaptureMode thread_mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;

// Whether unsafe calls of this thread are forbidden by `capture`. The rule is that of CANN's documentation of
// aclmdlRICaptureThreadExchangeMode.
bool forbids_here(const Capture& capture) {
  if (capture.mode() == ACL_MODEL_RI_CAPTURE_MODE_RELAXED || thread_mode == ACL_MODEL_RI_CAPTURE_MODE_RELAXED) {
    return false;
  }
  if (capture.thread() == std::this_thread::get_id()) return true;
  return capture.mode() == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL && thread_mode == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
}

void merge(std::vector<size_t>& into, const std::vector<size_t>& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

// The parent's capture failed: nobody can end those of its bodies properly.
void abandon_bodies(const Graph& graph) {
  for (const auto& capture : ongoing_captures().all()) {
    const auto& bodies = graph.bodies;
    if (std::find(bodies.begin(), bodies.end(), capture->graph()) != bodies.end()) capture->abandon();
  }
}

size_t at_or_zero(const std::vector<size_t>& values, size_t index) { return index < values.size() ? values[index] : 0; }

}  // namespace

Handles<Graph>& graphs() {
  static auto* const instance = new Handles<Graph>("captured graph", ACL_ERROR_RT_PARAM_INVALID);
  return *instance;
}

void drop_handles(const Graph& graph) {
  for (const auto& group : graph.groups) task_groups().remove_if_live(group.get());
  for (const auto& condition : graph.conditions) conditions().remove_if_live(condition.get());
  for (const auto& body : graph.bodies) {
    drop_handles(*body);
    graphs().remove_if_live(body.get());
  }
}

void give_up(Graph& graph) {
  drop_handles(graph);
  if (graph.is_body()) {
    graph.clear();
  } else {
    graphs().remove_if_live(&graph);
  }
}

Capture::Capture(std::shared_ptr<Graph> graph, aclmdlRICaptureMode mode)
    : graph_(std::move(graph)), mode_(mode), thread_(std::this_thread::get_id()) {}

std::shared_ptr<Capture> Capture::begin(const std::shared_ptr<Stream>& origin, std::shared_ptr<Graph> graph,
                                        aclmdlRICaptureMode mode) {
  require(origin->device() == graph->device(), ACL_ERROR_STREAM_CAPTURE_CONFLICT, "stream ", origin->id(),
          " belongs to device ", origin->device(), ", but the graph belongs to device ", graph->device());
  Graph::State empty = Graph::State::kEmpty;
  require(graph->state.compare_exchange_strong(empty, Graph::State::kCapturing), ACL_ERROR_RT_MODEL_CAPTURED, "graph ",
          graph->id(), empty == Graph::State::kReady ? " has been captured already" : " is being captured already");
  const std::shared_ptr<Capture> capture(new Capture(graph, mode));
  try {
    const std::lock_guard<std::mutex> lock(capture->mutex_);
    capture->join(origin);
  } catch (const Error&) {
    graph->clear();
    throw;
  }
  ongoing_captures().add(capture);
  return capture;
}

// The caller holds mutex_.
size_t Capture::join(const std::shared_ptr<Stream>& stream) {
  require(stream->device() == graph_->device(), ACL_ERROR_STREAM_CAPTURE_CONFLICT, "stream ", stream->id(),
          " belongs to device ", stream->device(), ", but device ", graph_->device(), " is being captured");
  drop_update(*stream);
  require(stream->divert(shared_from_this()), ACL_ERROR_RT_STREAM_CAPTURED, "stream ", stream->id(),
          " is being captured already; end that capture first, or use another stream");
  const size_t lane = lanes_.size();
  lanes_.push_back({stream, {}, 0, nullptr, Node::kNoGroup});
  lane_numbers_[stream.get()] = lane;
  graph_->lanes.push_back({stream->id(), {}});
  return lane;
}

// The caller holds mutex_.
size_t Capture::lane_of(const Stream& stream) const {
  const auto it = lane_numbers_.find(&stream);
  require(it != lane_numbers_.end(), ACL_ERROR_RT_STREAM_NOT_CAPTURED, "stream ", stream.id(),
          " does not take part in this capture");
  return it->second;
}

// The caller holds mutex_.
void Capture::push(size_t lane, Node node) {
  std::vector<Node>& nodes = graph_->lanes[lane].nodes;
  const bool is_task = node.kind == Node::Kind::kTask;
  graph_->order.push_back({lane, nodes.size()});
  nodes.push_back(std::move(node));
  LaneState& state = lanes_[lane];
  if (is_task) state.work = nodes.size();
  if (state.seen.size() <= lane) state.seen.resize(lane + 1);
  state.seen[lane] = nodes.size();
}

// The caller holds mutex_.
void Capture::require_valid() const {
  require(!over_, ACL_ERROR_RT_STREAM_NOT_CAPTURED, "the capture is over");
  require(!spoiled_, ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, "the capture was spoiled: ", spoiled_.value_or(""));
}

TaskPtr Capture::take(Stream& stream, TaskPtr task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  require_valid();
  const size_t lane = lane_of(stream);
  if (const char* const obstacle = task->capture_obstacle()) {
    const Error error(ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, text("cannot be captured: ", obstacle));
    if (!on_consumer_thread()) throw error;
    if (!refused_) refused_ = text(task->name(), ": ", error.text());
    return nullptr;
  }
  task->expect_replays();
  if (trace::enabled()) {
    const double now = trace::now();
    const std::string args = task->trace_args();
    trace::write("capture", task->name(), now, now,
                 text("\"graph\":", graph_->id(), ",\"stream\":", stream.id(), args.empty() ? "" : ",", args));
  }
  LaneState& state = lanes_[lane];
  auto blocks = blocks_of(*task);
  auto captured = order::note_capture(*task, last_tensor_);
  push(lane, {Node::Kind::kTask, std::move(task), 0, state.open_group_index, std::move(blocks), std::move(captured)});
  if (state.open_group != nullptr) state.open_group->add(graph_->lanes[lane].nodes.size() - 1);
  return nullptr;
}

void Capture::add_order_dependence(OrderDependence dependence) {
  const std::lock_guard<std::mutex> lock(mutex_);
  dependence.launch = graph_->task_count();
  order_dependences_.push_back(std::move(dependence));
}

void Capture::spoil(const char* function, const Error& error) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!spoiled_) spoiled_ = text(function, ": ", error.text());
}

std::optional<std::string> Capture::take_refused() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(refused_, std::nullopt);
}

std::string Capture::last_task() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto place = graph_->order.rbegin(); place != graph_->order.rend(); ++place) {
    const Node& node = graph_->lanes[place->lane].nodes[place->position];
    if (node.kind == Node::Kind::kTask) return node.task->name();
  }
  return {};
}

bool Capture::ongoing() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !over_;
}

bool Capture::valid() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !over_ && !spoiled_;
}

size_t Capture::record(const Stream& stream, const Event* event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  require_valid();
  const size_t lane = lane_of(stream);
  const size_t point = graph_->points.size();
  graph_->points.push_back({lane, event});
  push(lane, {Node::Kind::kRecord, nullptr, point, Node::kNoGroup, {}});
  points_.push_back({lanes_[lane].seen});
  return point;
}

void Capture::wait(const std::shared_ptr<Stream>& stream, size_t point) {
  const auto other = capture_of(*stream);
  const std::lock_guard<std::mutex> lock(mutex_);
  require_valid();
  if (other != nullptr && other.get() != this) {
    const std::string reason =
        text("stream ", stream->id(), " waits for an event of this capture, but takes part in another one");
    if (!spoiled_) spoiled_ = "aclrtStreamWaitEvent: " + reason;
    fail(ACL_ERROR_STREAM_CAPTURE_CONFLICT, reason);
  }
  const size_t lane = other == nullptr ? join(stream) : lane_of(*stream);
  if (graph_->points[point].lane == lane) return;  // its own order already holds
  push(lane, {Node::Kind::kWait, nullptr, point, Node::kNoGroup, {}});
  merge(lanes_[lane].seen, points_[point].seen);
}

void Capture::begin_group(const Stream& stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  require_valid();
  const size_t lane = lane_of(stream);
  LaneState& state = lanes_[lane];
  require(state.open_group == nullptr, ACL_ERROR_STREAM_TASK_GROUP_STATUS, "stream ", stream.id(),
          " has an open task group; end it first");
  state.open_group = std::make_shared<TaskGroup>(graph_, lane);
  state.open_group_index = graph_->groups.size();
  graph_->groups.push_back(state.open_group);
}

std::shared_ptr<TaskGroup> Capture::end_group(const Stream& stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  require_valid();
  LaneState& state = lanes_[lane_of(stream)];
  require(state.open_group != nullptr, ACL_ERROR_STREAM_TASK_GROUP_STATUS, "stream ", stream.id(),
          " has no open task group; call aclmdlRICaptureTaskGrpBegin first");
  state.open_group_index = Node::kNoGroup;
  return std::move(state.open_group);
}

void Capture::add_condition(std::shared_ptr<Condition> condition) {
  const std::lock_guard<std::mutex> lock(mutex_);
  require_valid();
  graph_->conditions.push_back(std::move(condition));
}

void Capture::add_conditional(Stream& stream, std::shared_ptr<Condition> condition, aclmdlRICondTaskType type,
                              std::vector<std::shared_ptr<Graph>> bodies) {
  take(stream, make_condition_task(std::move(condition), type, bodies));
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& body : bodies) graph_->bodies.push_back(std::move(body));
}

// The caller holds mutex_.
void Capture::require_complete() const {
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    const LaneState& state = lanes_[lane];
    require(state.open_group == nullptr, ACL_ERROR_STREAM_TASK_GROUP_INTR, "stream ", state.stream->id(),
            " has an open task group; call aclmdlRICaptureTaskGrpEnd before the capture ends");
    if (state.work <= at_or_zero(lanes_[0].seen, lane)) continue;
    fail(ACL_ERROR_RT_STREAM_UNJOINED, "stream ", state.stream->id(), " was forked from the captured stream ",
         lanes_[0].stream->id(), ", but not joined again after ",
         graph_->lanes[lane].nodes[state.work - 1].task->name(),
         "; record an event on it and let the captured stream wait for that");
  }
  for (const auto& body : graph_->bodies) {
    require(body->state.load() == Graph::State::kReady, ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING,
            "the body of a conditional task ",
            body->state.load() == Graph::State::kCapturing ? "is still being captured; end that capture first"
                                                           : "was not captured");
  }
}

// The caller holds mutex_.
void Capture::leave() {
  over_ = true;
  for (LaneState& state : lanes_) state.stream->end_diversion();
  lanes_.clear();
  lane_numbers_.clear();
  ongoing_captures().remove(this);
}

std::shared_ptr<Graph> Capture::end(const Stream& origin) {
  const std::lock_guard<std::mutex> lock(mutex_);
  require(!over_, ACL_ERROR_RT_STREAM_NOT_CAPTURED, "the capture is over");
  require(lanes_[0].stream.get() == &origin, ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED, "the capture began on stream ",
          lanes_[0].stream->id(), " and has to end there, not on stream ", origin.id());
  if (refused_ && !spoiled_) spoiled_ = refused_;
  try {
    require(mode_ == ACL_MODEL_RI_CAPTURE_MODE_RELAXED || thread_ == std::this_thread::get_id(),
            ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD,
            "a capture has to end on the thread that began it, unless its mode is relaxed; this one is given up");
    require_valid();
    require_complete();
  } catch (const Error&) {
    leave();
    abandon_bodies(*graph_);
    throw;
  }
  leave();
  graph_->state.store(Graph::State::kReady);
  return graph_;
}

void Capture::abandon() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (over_) return;
  leave();
  abandon_bodies(*graph_);
}

std::shared_ptr<Capture> capture_of(const Stream& stream) { return std::dynamic_pointer_cast<Capture>(stream.sink()); }

std::shared_ptr<Capture> capture_into(const Graph& graph) {
  for (auto& capture : ongoing_captures().all()) {
    if (capture->graph().get() == &graph) return std::move(capture);
  }
  fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "graph ", graph.id(), " is not being captured");
}

aclmdlRICaptureMode exchange_thread_mode(aclmdlRICaptureMode mode) noexcept { return std::exchange(thread_mode, mode); }

void require_not_captured(const Stream& stream, const char* why) {
  const auto capture = capture_of(stream);
  if (capture == nullptr) return;
  if (const auto refused = capture->take_refused()) fail(ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, *refused);
  const std::string last = capture->last_task();
  fail(ACL_ERROR_RT_STREAM_CAPTURED, why, " stream ", stream.id(),
       ", which is being captured: nothing has run there yet. Do it before or after the capture; .item(), .cpu(), "
       "printing a tensor, synchronize() and operators that look at values all wait",
       last.empty() ? "" : ". The last launch recorded is ", last);
}

void require_no_capture_here(const char* why, int code) {
  if (ongoing_captures().count.load() == 0) return;
  const Device* const device = current_device_or_null();
  for (const auto& capture : ongoing_captures().all()) {
    // Another device has its own work to wait for.
    if (device == nullptr || capture->graph()->device() != device->id()) continue;
    require(!forbids_here(*capture), code, why,
            "; that is not allowed while a graph is being captured in this mode. Do it before or after the capture, or "
            "capture with capture_error_mode='thread_local' or 'relaxed' if it is another thread's business");
  }
}

void abandon_captures(int device) {
  for (const auto& capture : ongoing_captures().all()) {
    if (capture->graph()->device() != device) continue;
    capture->abandon();
    give_up(*capture->graph());
  }
}

}  // namespace opwright
