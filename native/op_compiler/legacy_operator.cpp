// native/op_compiler/legacy_operator.cpp
// The legacy path (aclop): one operator by the name of its GE type. Refused with that name until the graph engine is
// there to run it; a stub that returned 0 would leave the outputs as they were.
#include "acl/acl_op_compiler.h"
#include "runtime/consumer_thread.h"

using namespace opwright;

OPWRIGHT_MARK_REFUSED(aclopCompileAndExecute);
OPWRIGHT_MARK_REFUSED(aclopCompileAndExecuteV2);

namespace {

aclError refuse_operator(const char* function, const char* opType, aclrtStream stream) {
  return call_on_stream(
      function, stream,
      [&] {
        fail(ACL_ERROR_OP_NOT_FOUND, "operator type '", &out(opType, "opType", ACL_ERROR_INVALID_PARAM),
             "' cannot run: this version of the twin has no graph engine and thus no legacy (aclop) operators. "
             "Use a function that torch_npu maps to aclnn; if it has one, check that torch.npu.set_compile_mode("
             "jit_compile=True) is not in effect and that tensors have no internal format");
      },
      arg("opType", opType));
}

}  // namespace

aclError aclopCompileAndExecute(const char* opType, int, const aclTensorDesc* const[], const aclDataBuffer* const[],
                                int, const aclTensorDesc* const[], aclDataBuffer* const[], const aclopAttr*,
                                aclopEngineType, aclopCompileType, const char*, aclrtStream stream) {
  return refuse_operator("aclopCompileAndExecute", opType, stream);
}

aclError aclopCompileAndExecuteV2(const char* opType, int, aclTensorDesc*[], aclDataBuffer*[], int, aclTensorDesc*[],
                                  aclDataBuffer*[], aclopAttr*, aclopEngineType, aclopCompileType, const char*,
                                  aclrtStream stream) {
  return refuse_operator("aclopCompileAndExecuteV2", opType, stream);
}
