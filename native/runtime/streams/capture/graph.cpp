// native/runtime/streams/capture/graph.cpp
#include "runtime/streams/capture/graph.h"

#include "runtime/memory/host_memory.h"
#include "runtime/memory/memory.h"
#include "runtime/streams/capture/condition.h"
#include "runtime/streams/capture/task_group.h"

namespace opwright {
namespace {

std::atomic<uint32_t> next_id{1};

uint64_t serial_of(const void* address) {
  return memory::is_device_address(address) ? memory::serial_of(address) : host_memory::serial_of(address);
}

void check(const Graph& graph, const Node& node, size_t number) {
  size_t index = 0;
  for (const MemoryRange& range : node.task->memory_ranges()) {
    if (serial_of(range.address) == node.blocks[index++]) continue;
    fail(ACL_ERROR_RT_PARAM_INVALID, node.task->name(), " (task ", number, " of graph ", graph.id(), "), parameter '",
         range.what, "': the memory at ", range.address,
         " was freed after the capture; keep what a captured graph uses ",
         "alive as long as it is replayed, or allocate it inside of the capture");
  }
}

}  // namespace

void Node::set_task(TaskPtr new_task, std::vector<uint64_t> new_blocks) {
  task = std::move(new_task);
  blocks = std::move(new_blocks);
}

std::vector<uint64_t> blocks_of(Task& task) {
  std::vector<uint64_t> blocks;
  for (const MemoryRange& range : task.memory_ranges()) blocks.push_back(serial_of(range.address));
  return blocks;
}

Graph::Graph(int device, bool is_body) : id_(next_id.fetch_add(1)), device_(device), is_body_(is_body) {}

Graph::~Graph() = default;

void Graph::clear() {
  lanes.clear();
  points.clear();
  order.clear();
  groups.clear();
  conditions.clear();
  bodies.clear();
  state.store(State::kEmpty);
}

size_t Graph::task_count() const noexcept {
  size_t count = 0;
  for (const Lane& lane : lanes) {
    for (const Node& node : lane.nodes) count += size_t{node.kind == Node::Kind::kTask};
  }
  return count;
}

void Graph::check_memory() {
  const uint64_t now = memory::releases();
  if (checked_ == now) return;
  size_t number = 0;
  for (const auto [lane, position] : order) {
    const Node& node = lanes[lane].nodes[position];
    if (node.kind != Node::Kind::kTask) continue;
    const auto lock = lock_group(*this, node);
    check(*this, node, ++number);
  }
  checked_ = now;
}

}  // namespace opwright
