// register/op_impl_registry.h
// Functions of an operator type that are registered beside its definition: IMPL_OP_OPTILING(Add).Tiling(function);
#pragma once

#include <cstdint>
#include <initializer_list>

#include "exe_graph/runtime/infer_datatype_context.h"
#include "exe_graph/runtime/infer_shape_context.h"
#include "exe_graph/runtime/infer_shape_range_context.h"
#include "exe_graph/runtime/tiling_context.h"
#include "exe_graph/runtime/tiling_parse_context.h"
#include "graph/types.h"
#include "node/registry.h"

namespace gert {

enum class TilingPlacement { TILING_ON_HOST = 0, TILING_ON_AICPU = 1 };

class OpImplRegisterV2 {
 public:
  using InferShapeKernelFunc = ge::graphStatus (*)(InferShapeContext*);
  using InferShapeRangeKernelFunc = ge::graphStatus (*)(InferShapeRangeContext*);
  using InferDataTypeKernelFunc = ge::graphStatus (*)(InferDataTypeContext*);
  using TilingKernelFunc = ge::graphStatus (*)(TilingContext*);
  using TilingParseFunc = ge::graphStatus (*)(TilingParseContext*);

  explicit OpImplRegisterV2(const char* op_type) : functions_(&opwright::ascendc::functions_of(op_type)) {}

  OpImplRegisterV2& InferShape(InferShapeKernelFunc function) {
    functions_->infer_shape = function;
    return *this;
  }
  OpImplRegisterV2& InferShapeRange(InferShapeRangeKernelFunc) { return *this; }
  OpImplRegisterV2& InferDataType(InferDataTypeKernelFunc function) {
    functions_->infer_dtype = function;
    return *this;
  }
  OpImplRegisterV2& InferOutDataTypeSameWithFirstInput() {
    functions_->same_dtype_as_first_input = true;
    return *this;
  }
  OpImplRegisterV2& Tiling(TilingKernelFunc function) {
    functions_->tiling = function;
    return *this;
  }
  OpImplRegisterV2& Tiling(TilingKernelFunc function, size_t) { return Tiling(function); }
  // `function` fills in an Info, which TilingContext::GetCompileInfo<Info>() then answers.
  template <class Info>
  OpImplRegisterV2& TilingParse(TilingParseFunc function) {
    functions_->tiling_parse = function;
    functions_->make_compile_info = []() -> void* { return new Info(); };
    functions_->free_compile_info = [](void* info) { delete static_cast<Info*>(info); };
    return *this;
  }
  OpImplRegisterV2& InputsDataDependency(std::initializer_list<int32_t> inputs) {
    functions_->host_inputs.insert(inputs);
    return *this;
  }
  OpImplRegisterV2& TilingInputsDataDependency(std::initializer_list<int32_t> inputs) {
    return InputsDataDependency(inputs);
  }
  OpImplRegisterV2& TilingInputsDataDependency(std::initializer_list<int32_t> inputs,
                                               std::initializer_list<TilingPlacement>) {
    return InputsDataDependency(inputs);
  }
  OpImplRegisterV2& HostInputs(std::initializer_list<int32_t> inputs) { return InputsDataDependency(inputs); }

 private:
  opwright::ascendc::OpFunctions* functions_;
};

using OpImplRegister = OpImplRegisterV2;

}  // namespace gert

#define OPWRIGHT_JOIN(a, b) OPWRIGHT_JOIN_NOW(a, b)
#define OPWRIGHT_JOIN_NOW(a, b) a##b
#define IMPL_OP(op_type)                                                                                    \
  [[maybe_unused]] static ::gert::OpImplRegisterV2 OPWRIGHT_JOIN(opwright_impl_##op_type##_, __COUNTER__) = \
      ::gert::OpImplRegisterV2(#op_type)
#define IMPL_OP_OPTILING(op_type) IMPL_OP(op_type)
#define IMPL_OP_INFERSHAPE(op_type) IMPL_OP(op_type)
#define IMPL_OP_INFERDATATYPE(op_type) IMPL_OP(op_type)
