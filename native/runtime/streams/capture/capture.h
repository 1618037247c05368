// native/runtime/streams/capture/capture.h
// An ongoing capture: the streams that take part hand their tasks over, which are recorded instead of run.
//
// A stream takes part when the capture began on it, or when it waits for an event that was recorded in the capture.
// All forked streams have to be joined into the first one before the capture ends.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "acl/acl_rt_types.h"
#include "runtime/handle.h"
#include "runtime/order/tensor_memory.h"
#include "runtime/streams/capture/graph.h"
#include "runtime/streams/stream.h"

namespace opwright {

class Event;

// A captured operator that reads elements which it also writes, at other places: what it computes depends on the order
// of the elements.
struct OrderDependence {
  struct Operand {
    const char* parameter;
    std::string dtype;    // "float32"
    std::string sizes;    // "[2, 3]"
    std::string strides;  // elements, as the offset
    int64_t offset;
  };
  const char* operation;
  size_t launch;  // its number among the tasks of the capture, from 1
  Operand written, read;
};

class OPWRIGHT_API Capture final : public TaskSink, public std::enable_shared_from_this<Capture> {
 public:
  // Records into `graph`, which must be empty.
  static std::shared_ptr<Capture> begin(const std::shared_ptr<Stream>& origin, std::shared_ptr<Graph> graph,
                                        aclmdlRICaptureMode mode);
  // Ends the capture and answers its graph. Throws what spoiled it, or if this is not the thread that began it; it is
  // over then too. Only if it did not begin on `origin` it goes on.
  std::shared_ptr<Graph> end(const Stream& origin);
  // Gives the capture up: its streams run again what they get.
  void abandon();

  TaskPtr take(Stream& stream, TaskPtr task) override;
  // Notes that the task which was taken last depends on the order of its elements.
  void add_order_dependence(OrderDependence dependence);
  const std::vector<OrderDependence>& order_dependences() const noexcept { return order_dependences_; }
  void spoil(const char* function, const Error& error) override;

  // Records a point that other streams can wait for, and join the capture by that.
  size_t record(const Stream& stream, const Event* event);
  void wait(const std::shared_ptr<Stream>& stream, size_t point);

  void begin_group(const Stream& stream);
  std::shared_ptr<TaskGroup> end_group(const Stream& stream);
  void add_condition(std::shared_ptr<Condition> condition);
  void add_conditional(Stream& stream, std::shared_ptr<Condition> condition, aclmdlRICondTaskType type,
                       std::vector<std::shared_ptr<Graph>> bodies);

  const std::shared_ptr<Graph>& graph() const noexcept { return graph_; }
  aclmdlRICaptureMode mode() const noexcept { return mode_; }
  std::thread::id thread() const noexcept { return thread_; }
  bool ongoing() const;
  bool valid() const;
  // The operator that could not be captured, if it was not reported yet: torch_npu's consumer thread cannot report it.
  // Such an operator is followed by a wait for its result, which takes this and reports it; the capture goes on without
  // it, as if the operator had refused at once. What nobody takes, the end of the capture reports.
  std::optional<std::string> take_refused();
  // The last task that was recorded on any stream; empty if there is none.
  std::string last_task() const;

 private:
  struct LaneState {
    std::shared_ptr<Stream> stream;
    std::vector<size_t> seen;  // by lane: how many of its nodes have run for sure when this lane gets here
    size_t work = 0;           // nodes up to and including the last task
    std::shared_ptr<TaskGroup> open_group;
    size_t open_group_index = Node::kNoGroup;
  };
  struct PointState {
    std::vector<size_t> seen;
  };

  Capture(std::shared_ptr<Graph> graph, aclmdlRICaptureMode mode);
  size_t join(const std::shared_ptr<Stream>& stream);
  size_t lane_of(const Stream& stream) const;
  void push(size_t lane, Node node);
  void require_valid() const;
  void require_complete() const;
  void leave();

  const std::shared_ptr<Graph> graph_;
  const aclmdlRICaptureMode mode_;
  const std::thread::id thread_;
  const uint64_t last_tensor_ = order::last_tensor();  // that had memory before

  mutable std::mutex mutex_;  // everything below, and the graph
  std::vector<LaneState> lanes_;
  std::unordered_map<const Stream*, size_t> lane_numbers_;
  std::vector<PointState> points_;
  // The reason why the capture is useless, if it is: nothing is recorded any more, and the end reports it.
  std::optional<std::string> spoiled_;
  std::optional<std::string> refused_;
  std::vector<OrderDependence> order_dependences_;  // only read after the end
  bool over_ = false;
};

Handles<Graph>& graphs();
// Forgets the handles of everything that belongs to a graph.
void drop_handles(const Graph& graph);
// The graph's capture failed. A body can be captured again, other graphs are gone.
void give_up(Graph& graph);

// The capture that the stream takes part in, or nullptr.
OPWRIGHT_API std::shared_ptr<Capture> capture_of(const Stream& stream);

// The capture that records into `graph`; throws 107029 if there is none.
std::shared_ptr<Capture> capture_into(const Graph& graph);

// How the calling thread takes the captures of the process; exchanged by aclmdlRICaptureThreadExchangeMode.
aclmdlRICaptureMode exchange_thread_mode(aclmdlRICaptureMode mode) noexcept;

// For calls that would wait for a stream. Throws 107027 if it is being captured, which goes on, as in CANN.
void require_not_captured(const Stream& stream, const char* why);

// For calls that CANN counts as unsafe while a capture goes on: they wait for the device, or read host memory that the
// caller may reuse. Throws 107030 unless the capture modes allow it; the captures go on, as in CANN.
void require_no_capture_here(const char* why, int code = ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);

// The device is reset: its captures end without a graph.
void abandon_captures(int device);

}  // namespace opwright
