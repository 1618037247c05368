// exe_graph/runtime/tiling_context.h
// The context that a tiling function reads and sets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "exe_graph/runtime/extended_kernel_context.h"
#include "exe_graph/runtime/storage_shape.h"
#include "exe_graph/runtime/tensor.h"
#include "exe_graph/runtime/tiling_data.h"
#include "graph/types.h"

namespace gert {

class TilingContext : public ExtendedKernelContext {
 public:
  explicit TilingContext(opwright::ascendc::Node& node) : ExtendedKernelContext(node) {}

  // Null for a tensor that is absent. The data of a tensor is null unless tiling depends on the input's values.
  const StorageShape* GetInputShape(size_t index) const { return shape_of(GetInputTensor(index)); }
  const StorageShape* GetRequiredInputShape(size_t ir_index) const { return GetDynamicInputShape(ir_index, 0); }
  const StorageShape* GetOptionalInputShape(size_t ir_index) const { return GetDynamicInputShape(ir_index, 0); }
  const StorageShape* GetDynamicInputShape(size_t ir_index, size_t relative) const {
    return shape_of(GetDynamicInputTensor(ir_index, relative));
  }
  const Tensor* GetInputTensor(size_t index) const { return at(node().inputs, index); }
  const Tensor* GetRequiredInputTensor(size_t ir_index) const { return GetDynamicInputTensor(ir_index, 0); }
  const Tensor* GetOptionalInputTensor(size_t ir_index) const { return GetDynamicInputTensor(ir_index, 0); }
  const Tensor* GetDynamicInputTensor(size_t ir_index, size_t relative) const {
    return GetInputTensor(input_instance(ir_index, relative));
  }
  const StorageShape* GetOutputShape(size_t index) const { return at(node().outputs, index); }

  // Strides are null, offsets 0 and views false for a tensor that is absent.
  const Stride* GetInputStride(size_t index) const { return stride_of(at(node().input_places, index)); }
  const Stride* GetRequiredInputStride(size_t ir_index) const { return GetDynamicInputStride(ir_index, 0); }
  const Stride* GetOptionalInputStride(size_t ir_index) const { return GetDynamicInputStride(ir_index, 0); }
  const Stride* GetDynamicInputStride(size_t ir_index, size_t relative) const {
    return GetInputStride(input_instance(ir_index, relative));
  }
  const Stride* GetOutputStride(size_t index) const { return stride_of(at(node().output_places, index)); }
  int64_t GetInputOffset(size_t index) const { return offset_of(at(node().input_places, index)); }
  int64_t GetRequiredInputOffset(size_t ir_index) const { return GetDynamicInputOffset(ir_index, 0); }
  int64_t GetOptionalInputOffset(size_t ir_index) const { return GetDynamicInputOffset(ir_index, 0); }
  int64_t GetDynamicInputOffset(size_t ir_index, size_t relative) const {
    return GetInputOffset(input_instance(ir_index, relative));
  }
  int64_t GetOutputOffset(size_t index) const { return offset_of(at(node().output_places, index)); }
  bool InputIsView(size_t index) const { return is_view(at(node().input_places, index)); }
  bool RequiredInputIsView(size_t ir_index) const { return DynamicInputIsView(ir_index, 0); }
  bool OptionalInputIsView(size_t ir_index) const { return DynamicInputIsView(ir_index, 0); }
  bool DynamicInputIsView(size_t ir_index, size_t relative) const {
    return InputIsView(input_instance(ir_index, relative));
  }
  bool OutputIsView(size_t index) const { return is_view(at(node().output_places, index)); }

  // The object that the operator's TilingParse has made; null without one.
  template <class T>
  const T* GetCompileInfo() const {
    return static_cast<const T*>(node().compile_info);
  }
  const void* GetCompileInfo() const { return node().compile_info; }
  fe::PlatFormInfos* GetPlatformInfo() const { return node().platform; }
  int32_t GetDeterministic() const { return node().deterministic; }
  int32_t GetDeterministicLevel() const { return node().deterministic; }

  ge::graphStatus SetTilingKey(uint64_t key) { return set(node().tiling.key, key); }
  uint64_t GetTilingKey() const { return node().tiling.key; }
  // Blocks that run the kernel; all three names mean the same.
  ge::graphStatus SetBlockDim(uint32_t blocks) { return set(node().tiling.blocks, blocks); }
  ge::graphStatus SetNumBlocks(uint32_t blocks) { return SetBlockDim(blocks); }
  ge::graphStatus SetSimdNumBlocks(uint32_t blocks) { return SetBlockDim(blocks); }
  uint32_t GetBlockDim() const { return node().tiling.blocks; }
  uint32_t GetNumBlocks() const { return GetBlockDim(); }
  uint32_t GetSimdNumBlocks() const { return GetBlockDim(); }
  ge::graphStatus SetAicpuBlockDim(uint32_t blocks) { return set(node().tiling.aicpu_blocks, blocks); }
  ge::graphStatus SetAicpuNumBlocks(uint32_t blocks) { return SetAicpuBlockDim(blocks); }
  uint32_t GetAicpuBlockDim() const { return node().tiling.aicpu_blocks; }
  uint32_t GetAicpuNumBlocks() const { return GetAicpuBlockDim(); }
  ge::graphStatus SetNeedAtomic(bool needed) { return set(node().tiling.clear_outputs, needed); }
  bool NeedAtomic() const { return node().tiling.clear_outputs; }
  ge::graphStatus SetTilingCond(int32_t condition) { return set(node().tiling.condition, condition); }
  int32_t GetTilingCond() const { return node().tiling.condition; }
  // Modes: 0 normal, 1 batch (all blocks start together).
  ge::graphStatus SetScheduleMode(uint32_t mode) { return set(node().tiling.schedule_mode, mode); }
  uint32_t GetScheduleMode() const { return node().tiling.schedule_mode; }
  ge::graphStatus SetLocalMemorySize(uint32_t bytes) { return set(node().tiling.local_memory, bytes); }
  uint32_t GetLocalMemorySize() const { return node().tiling.local_memory; }
  ge::graphStatus SetDynUBufSize(uint32_t bytes) { return set(node().tiling.dynamic_ub, bytes); }
  uint32_t GetDynUBufSize() const { return node().tiling.dynamic_ub; }
  ge::graphStatus SetSimtGridDim(const Dim3& dim) { return set(node().tiling.simt_grid, dim); }
  const Dim3* GetSimtGridDim() const { return &node().tiling.simt_grid; }
  ge::graphStatus SetSimtBlockDim(const Dim3& dim) { return set(node().tiling.simt_block, dim); }
  const Dim3* GetSimtBlockDim() const { return &node().tiling.simt_block; }

  TilingData* GetRawTilingData() { return &node().tiling.data; }
  // The tiling data as a T; the kernel gets sizeof(T) bytes.
  template <class T>
  auto GetTilingData() -> T* {
    TilingData& data = node().tiling.data;
    if (sizeof(T) > data.GetCapacity()) return nullptr;
    data.SetDataSize(sizeof(T));
    return static_cast<T*>(data.GetData());
  }

  // Sizes of `count` workspaces, for the caller to set.
  size_t* GetWorkspaceSizes(size_t count) {
    node().tiling.workspaces.resize(count);
    return node().tiling.workspaces.data();
  }
  size_t GetWorkspaceNum() const { return node().tiling.workspaces.size(); }

 private:
  using Place = opwright::ascendc::Place;
  static const StorageShape* shape_of(const Tensor* tensor) {
    return tensor == nullptr ? nullptr : &tensor->GetShape();
  }
  static const Stride* stride_of(const Place* place) { return place == nullptr ? nullptr : &place->strides; }
  static int64_t offset_of(const Place* place) { return place == nullptr ? 0 : place->offset; }
  static bool is_view(const Place* place) { return place != nullptr && place->is_view; }

  template <class T>
  static ge::graphStatus set(T& field, const T& value) {
    field = value;
    return ge::GRAPH_SUCCESS;
  }
};

}  // namespace gert
