// exe_graph/runtime/infer_datatype_context.h
// The context that a dtype inference function reads and sets.
#pragma once

#include <cstddef>

#include "exe_graph/runtime/extended_kernel_context.h"
#include "graph/types.h"

namespace gert {

class InferDataTypeContext : public ExtendedKernelContext {
 public:
  explicit InferDataTypeContext(opwright::ascendc::Node& node) : ExtendedKernelContext(node) {}

  // DT_UNDEFINED for a tensor that is absent.
  ge::DataType GetInputDataType(size_t index) const { return type_of(GetInputDesc(index)); }
  ge::DataType GetRequiredInputDataType(size_t ir_index) const { return type_of(GetRequiredInputDesc(ir_index)); }
  ge::DataType GetOptionalInputDataType(size_t ir_index) const { return type_of(GetOptionalInputDesc(ir_index)); }
  ge::DataType GetDynamicInputDataType(size_t ir_index, size_t relative) const {
    return type_of(GetDynamicInputDesc(ir_index, relative));
  }
  ge::DataType GetOutputDataType(size_t index) const { return type_of(GetOutputDesc(index)); }
  ge::graphStatus SetOutputDataType(size_t index, ge::DataType type) {
    auto& descriptions = node().info.outputs().descriptions;
    if (index >= descriptions.size()) return ge::GRAPH_FAILED;
    descriptions[index].SetDataType(type);
    return ge::GRAPH_SUCCESS;
  }

 private:
  static ge::DataType type_of(const CompileTimeTensorDesc* description) {
    return description == nullptr ? ge::DT_UNDEFINED : description->GetDataType();
  }
};

}  // namespace gert
