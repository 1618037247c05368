// exe_graph/runtime/compute_node_info.h
// Facts about an operator's call before its shapes are known: dtypes, formats, and which inputs there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "exe_graph/runtime/runtime_attrs.h"
#include "exe_graph/runtime/storage_format.h"
#include "graph/types.h"

namespace gert {

// The tensors of one input of the definition: none if it is absent, several if it is dynamic.
class AnchorInstanceInfo {
 public:
  AnchorInstanceInfo() = default;
  AnchorInstanceInfo(uint32_t start, uint32_t count) : start_(start), count_(count) {}
  size_t GetInstanceStart() const { return start_; }
  size_t GetInstanceNum() const { return count_; }
  void SetInstanceStart(uint32_t start) { start_ = start; }
  void SetInstantiationNum(uint32_t count) { count_ = count; }

 private:
  uint32_t start_ = 0;
  uint32_t count_ = 0;
};

class CompileTimeTensorDesc {
 public:
  ge::DataType GetDataType() const { return type_; }
  void SetDataType(ge::DataType type) { type_ = type; }
  const StorageFormat& GetFormat() const { return format_; }
  ge::Format GetStorageFormat() const { return format_.GetStorageFormat(); }
  void SetStorageFormat(ge::Format format) { format_.SetStorageFormat(format); }
  ge::Format GetOriginFormat() const { return format_.GetOriginFormat(); }
  void SetOriginFormat(ge::Format format) { format_.SetOriginFormat(format); }
  ExpandDimsType GetExpandDimsType() const { return format_.GetExpandDimsType(); }
  void SetExpandDimsType(const ExpandDimsType& expanded) { format_.SetExpandDimsType(expanded); }
  bool IsExist() const { return exists_; }
  void SetExist(bool exists) { exists_ = exists; }

 private:
  ge::DataType type_ = ge::DT_UNDEFINED;
  StorageFormat format_;
  bool exists_ = true;
};

class ComputeNodeInfo {
 public:
  ComputeNodeInfo(const ComputeNodeInfo&) = delete;
  ComputeNodeInfo& operator=(const ComputeNodeInfo&) = delete;

  const char* GetNodeType() const { return type_.c_str(); }
  const char* GetNodeName() const { return name_.c_str(); }
  size_t GetIrInputsNum() const { return inputs_.anchors.size(); }
  size_t GetIrOutputsNum() const { return outputs_.anchors.size(); }
  size_t GetInputsNum() const { return inputs_.descriptions.size(); }
  size_t GetOutputsNum() const { return outputs_.descriptions.size(); }
  // Null for an index that the operator does not have.
  const AnchorInstanceInfo* GetInputInstanceInfo(size_t index) const { return at(inputs_.anchors, index); }
  const AnchorInstanceInfo* GetOutputInstanceInfo(size_t index) const { return at(outputs_.anchors, index); }
  const CompileTimeTensorDesc* GetInputTdInfo(size_t index) const { return at(inputs_.descriptions, index); }
  const CompileTimeTensorDesc* GetOutputTdInfo(size_t index) const { return at(outputs_.descriptions, index); }
  const RuntimeAttrs* GetAttrs() const { return &attrs_; }

  // For the package that calls the operator.
  struct Side {
    std::vector<AnchorInstanceInfo> anchors;
    std::vector<CompileTimeTensorDesc> descriptions;
  };
  ComputeNodeInfo(const char* name, const char* type) : name_(name), type_(type) {}
  Side& inputs() { return inputs_; }
  Side& outputs() { return outputs_; }
  RuntimeAttrs& attrs() { return attrs_; }

 private:
  template <class T>
  static const T* at(const std::vector<T>& values, size_t index) {
    return index < values.size() ? &values[index] : nullptr;
  }

  std::string name_;
  std::string type_;
  Side inputs_;
  Side outputs_;
  RuntimeAttrs attrs_;
};

}  // namespace gert
