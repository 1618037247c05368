// graph/custom_op.h
// Operators of a graph that launch their work themselves:
//
//   class Rescale : public ge::EagerExecuteOp { ge::Status Execute(gert::EagerOpExecutionContext* context) override; };
//   REG_AUTO_MAPPING_OP(Rescale);
//
// The prototype of the type stands beside it (graph/operator_reg.h).
#pragma once

#include <cstdint>
#include <memory>

#include "exe_graph/runtime/eager_op_execution_context.h"
#include "exe_graph/runtime/infer_datatype_context.h"
#include "exe_graph/runtime/infer_shape_context.h"
#include "graph/types.h"

namespace ge {

using Status = uint32_t;
constexpr Status SUCCESS = 0;
constexpr Status FAILED = 0xFFFFFFFF;

class BaseCustomOp {
 public:
  BaseCustomOp() = default;
  virtual ~BaseCustomOp() = default;
  BaseCustomOp(const BaseCustomOp&) = delete;
  BaseCustomOp& operator=(const BaseCustomOp&) = delete;
};

class EagerExecuteOp : virtual public BaseCustomOp {
 public:
  // Called for each run of the graph, by the thread that runs it.
  virtual Status Execute(gert::EagerOpExecutionContext* context) = 0;
};

// Inference by the class, beside EagerExecuteOp. Shapes come from Meta here; what the class infers is compared with
// them before each run.
class ShapeInferOp : virtual public BaseCustomOp {
 public:
  virtual graphStatus InferShape(gert::InferShapeContext* context) = 0;
  virtual graphStatus InferDataType(gert::InferDataTypeContext* context) = 0;
};

}  // namespace ge

namespace opwright::graph_engine {

// Makes the class of an operator type known while it lives, which is as long as its library is loaded.
class __attribute__((visibility("default"))) CustomOperator {
 public:
  using Make = std::unique_ptr<ge::EagerExecuteOp> (*)();

  CustomOperator(const char* type, Make make);
  ~CustomOperator();
  CustomOperator(const CustomOperator&) = delete;
  CustomOperator& operator=(const CustomOperator&) = delete;
};

}  // namespace opwright::graph_engine

#define REG_AUTO_MAPPING_OP(op_class)                                                                         \
  [[maybe_unused]] static const ::opwright::graph_engine::CustomOperator opwright_custom_operator_##op_class( \
      #op_class, []() -> std::unique_ptr<::ge::EagerExecuteOp> { return std::make_unique<op_class>(); })
