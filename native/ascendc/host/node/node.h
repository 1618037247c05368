// node/node.h
// One call of an operator, as its infer and tiling functions see it through the contexts of exe_graph/runtime. Ours,
// not CANN's: the package that calls the operator fills it in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exe_graph/runtime/compute_node_info.h"
#include "exe_graph/runtime/shape.h"
#include "exe_graph/runtime/storage_shape.h"
#include "exe_graph/runtime/tensor.h"
#include "exe_graph/runtime/tiling_data.h"
#include "platform/platform_infos_def.h"

namespace gert {
struct Dim3 {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;
};
}  // namespace gert

namespace opwright::ascendc {

// Where a tensor lies that is not one piece of memory.
struct Place {
  gert::Stride strides;
  int64_t offset = 0;  // elements
  bool is_view = false;
};

// Decisions of tiling.
struct TilingResult {
  gert::TilingData data;
  uint64_t key = 0;
  uint32_t blocks = 0;  // 0: not set
  std::vector<size_t> workspaces;
  bool clear_outputs = false;  // SetNeedAtomic
  uint32_t schedule_mode = 0;
  uint32_t local_memory = 0;
  uint32_t dynamic_ub = 0;
  uint32_t aicpu_blocks = 0;
  int32_t condition = -1;
  gert::Dim3 simt_grid;
  gert::Dim3 simt_block;
};

struct Node {
  Node(const char* name, const char* type) : info(name, type) {}

  gert::ComputeNodeInfo info;
  std::vector<gert::Tensor> inputs;  // of all instances, in order
  std::vector<Place> input_places;
  std::vector<gert::StorageShape> outputs;
  std::vector<Place> output_places;
  TilingResult tiling;
  const void* compile_info = nullptr;
  fe::PlatFormInfos* platform = nullptr;
  int32_t deterministic = 0;
};

}  // namespace opwright::ascendc
