// native/op_compiler/legacy_operator.cpp
// The legacy path (aclop): one operator by the name of its GE type, computed by the kernel that the graph engine has
// for that type. The operator is checked when it is called and runs on its stream, in order.
#include <memory>
#include <optional>

#include "acl/acl_op_compiler.h"
#include "op_compiler/legacy_description.h"
#include "op_compiler/legacy_engine.h"
#include "op_compiler/legacy_task.h"
#include "runtime/descriptors/tensor_desc.h"
#include "runtime/device.h"
#include "runtime/streams/consumer_thread.h"

using namespace opwright;

namespace {

// One side of a call: descriptors, and the memory of each.
struct Operands {
  legacy::Descriptors descriptors;
  const aclDataBuffer* const* buffers;
};

void check(const Operands& operands, const char* counted, const char* descriptors, const char* buffers) {
  const int count = operands.descriptors.count;
  require(count >= 0, ACL_ERROR_INVALID_PARAM, "parameter '", counted, "' is ", count, "; it must not be negative");
  if (count == 0) return;
  out(operands.descriptors.items, descriptors, ACL_ERROR_INVALID_PARAM);
  out(operands.buffers, buffers, ACL_ERROR_INVALID_PARAM);
}

void add_all(legacy::OperatorTask& task, const Operands& operands, bool are_outputs) {
  for (int i = 0; i < operands.descriptors.count; ++i) {
    task.add(operands.descriptors.items[i], operands.buffers[i], are_outputs, i);
  }
}

std::unique_ptr<legacy::OperatorTask> make(const char* type, const Operands& inputs, const Operands& outputs,
                                           const aclopAttr* attributes) {
  out(type, "opType", ACL_ERROR_INVALID_PARAM);
  check(inputs, "numInputs", "inputDesc", "inputs");
  check(outputs, "numOutputs", "outputDesc", "outputs");
  std::string description = legacy::describe(type, inputs.descriptors, outputs.descriptors, attributes);
  legacy::ProgramPtr program = legacy::program_of(type, description);
  auto task = std::make_unique<legacy::OperatorTask>(type, std::move(description), std::move(program));
  add_all(*task, inputs, /*are_outputs=*/false);
  add_all(*task, outputs, /*are_outputs=*/true);
  task->check();
  return task;
}

}  // namespace

aclError aclopCompileAndExecute(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[],
                                const aclDataBuffer* const inputs[], int numOutputs,
                                const aclTensorDesc* const outputDesc[], aclDataBuffer* const outputs[],
                                const aclopAttr* attr, aclopEngineType, aclopCompileType, const char*,
                                aclrtStream stream) {
  return call_on_stream(
      "aclopCompileAndExecute", stream,
      [&] {
        auto task = make(opType, {{inputDesc, numInputs}, inputs}, {{outputDesc, numOutputs}, outputs}, attr);
        stream_of(stream)->submit(std::move(task));
      },
      arg("opType", opType));
}

// Outputs whose shapes depend on values: waits for the operator, and writes the shapes back to the descriptors.
aclError aclopCompileAndExecuteV2(const char* opType, int numInputs, aclTensorDesc* inputDesc[],
                                  aclDataBuffer* inputs[], int numOutputs, aclTensorDesc* outputDesc[],
                                  aclDataBuffer* outputs[], aclopAttr* attr, aclopEngineType, aclopCompileType,
                                  const char*, aclrtStream stream) {
  return call_on_stream(
      "aclopCompileAndExecuteV2", stream,
      [&] {
        auto task = make(opType, {{inputDesc, numInputs}, inputs}, {{outputDesc, numOutputs}, outputs}, attr);
        const auto shapes = std::make_shared<legacy::Shapes>();
        task->reshape(shapes);
        const auto target = stream_of(stream);
        target->submit(std::move(task));
        synchronize(*target, std::nullopt);
        require(shapes->size() == static_cast<size_t>(numOutputs), ACL_ERROR_INTERNAL_ERROR, "the kernel of '", opType,
                "' answered ", shapes->size(), " shapes for ", numOutputs, " outputs");
        for (size_t i = 0; i < shapes->size(); ++i) {
          if (outputDesc[i] != nullptr) outputDesc[i]->dims = (*shapes)[i];
        }
      },
      arg("opType", opType));
}
