// exe_graph/runtime/extended_kernel_context.h
// The base of the contexts of all functions of an operator.
#pragma once

#include <cstddef>

#include "exe_graph/runtime/compute_node_info.h"
#include "node/node.h"

namespace gert {

class KernelContext {
 public:
  KernelContext(const KernelContext&) = delete;
  KernelContext& operator=(const KernelContext&) = delete;

 protected:
  explicit KernelContext(opwright::ascendc::Node& node) : node_(&node) {}
  opwright::ascendc::Node& node() const { return *node_; }

  template <class T>
  static auto at(T& values, size_t index) -> decltype(values.data()) {
    return index < values.size() ? values.data() + index : nullptr;
  }

 private:
  opwright::ascendc::Node* node_;
};

class ExtendedKernelContext : public KernelContext {
 public:
  const char* GetNodeType() const { return node().info.GetNodeType(); }
  const char* GetNodeName() const { return node().info.GetNodeName(); }
  const char* GetKernelType() const { return GetNodeType(); }
  const char* GetKernelName() const { return GetNodeName(); }
  const ComputeNodeInfo* GetComputeNodeInfo() const { return &node().info; }
  size_t GetComputeNodeInputNum() const { return node().info.GetInputsNum(); }
  size_t GetComputeNodeOutputNum() const { return node().info.GetOutputsNum(); }
  const RuntimeAttrs* GetAttrs() const { return node().info.GetAttrs(); }

  // Of inputs and outputs by their number among all instances; the others by their number in the operator's definition.
  const CompileTimeTensorDesc* GetInputDesc(size_t index) const { return node().info.GetInputTdInfo(index); }
  const CompileTimeTensorDesc* GetOutputDesc(size_t index) const { return node().info.GetOutputTdInfo(index); }
  const CompileTimeTensorDesc* GetRequiredInputDesc(size_t ir_index) const { return GetDynamicInputDesc(ir_index, 0); }
  const CompileTimeTensorDesc* GetOptionalInputDesc(size_t ir_index) const { return GetDynamicInputDesc(ir_index, 0); }
  const CompileTimeTensorDesc* GetDynamicInputDesc(size_t ir_index, size_t relative) const {
    return GetInputDesc(instance(node().info.GetInputInstanceInfo(ir_index), relative));
  }
  const CompileTimeTensorDesc* GetRequiredOutputDesc(size_t ir_index) const {
    return GetDynamicOutputDesc(ir_index, 0);
  }
  const CompileTimeTensorDesc* GetDynamicOutputDesc(size_t ir_index, size_t relative) const {
    return GetOutputDesc(instance(node().info.GetOutputInstanceInfo(ir_index), relative));
  }
  const AnchorInstanceInfo* GetIrInputInstanceInfo(size_t ir_index) const {
    return node().info.GetInputInstanceInfo(ir_index);
  }
  const AnchorInstanceInfo* GetIrOutputInstanceInfo(size_t ir_index) const {
    return node().info.GetOutputInstanceInfo(ir_index);
  }

 protected:
  using KernelContext::KernelContext;

  static constexpr size_t kNone = static_cast<size_t>(-1);
  // The number among all instances; kNone if the operator has no such tensor.
  static size_t instance(const AnchorInstanceInfo* anchor, size_t relative) {
    if (anchor == nullptr || relative >= anchor->GetInstanceNum()) return kNone;
    return anchor->GetInstanceStart() + relative;
  }
  size_t input_instance(size_t ir_index, size_t relative) const {
    return instance(node().info.GetInputInstanceInfo(ir_index), relative);
  }
};

}  // namespace gert
