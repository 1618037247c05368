// native/runtime/capture/graph.cpp
#include "runtime/capture/graph.h"

#include "runtime/capture/condition.h"
#include "runtime/capture/task_group.h"
#include "runtime/memory.h"

namespace opwright {
namespace {

std::atomic<uint32_t> next_id{1};

void check(const Graph& graph, const Node& node, size_t number) {
  size_t index = 0;
  for (const MemoryRange& range : node.task->memory_ranges()) {
    if (memory::serial_of(range.address) == node.blocks[index++]) continue;
    fail(ACL_ERROR_RT_PARAM_INVALID, node.task->name(), " (task ", number, " of graph ", graph.id(), "), parameter '",
         range.what, "': the memory at ", range.address,
         " was freed after the capture; keep what a captured graph uses ",
         "alive as long as it is replayed, or allocate it inside of the capture");
  }
}

}  // namespace

void Node::set_task(TaskPtr new_task) {
  task = std::move(new_task);
  blocks.clear();
  for (const MemoryRange& range : task->memory_ranges()) blocks.push_back(memory::serial_of(range.address));
}

Graph::Graph(int device) : id_(next_id.fetch_add(1)), device_(device) {}

Graph::~Graph() = default;

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
    check(*this, node, number++);
  }
  checked_ = now;
}

}  // namespace opwright
