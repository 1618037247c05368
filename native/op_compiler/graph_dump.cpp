// native/op_compiler/graph_dump.cpp
// Dumping the graph of one operator: the option object exists, the dump is refused.
#include <memory>

#include "acl/acl_op_compiler.h"
#include "runtime/call.h"

using namespace opwright;

struct aclGraphDumpOption {};  // CANN defines no fields either

aclGraphDumpOption* aclCreateGraphDumpOpt(void) {
  aclGraphDumpOption* created = nullptr;
  call("aclCreateGraphDumpOpt", [&] { created = std::make_unique<aclGraphDumpOption>().release(); });
  return created;
}

aclError aclDestroyGraphDumpOpt(const aclGraphDumpOption* graphDumpOpt) {
  return call("aclDestroyGraphDumpOpt", [&] {
    require(graphDumpOpt != nullptr, ACL_ERROR_INVALID_PARAM, "parameter 'graphDumpOpt' is null");
    std::unique_ptr<const aclGraphDumpOption>{graphDumpOpt}.reset();
  });
}

OPWRIGHT_REFUSE(aclError, aclGenGraphAndDumpForOp,
                (const char*, int, const aclTensorDesc* const[], const aclDataBuffer* const[], int,
                 const aclTensorDesc* const[], aclDataBuffer* const[], const aclopAttr*, aclopEngineType, const char*,
                 const aclGraphDumpOption*),
                "operators are not compiled to graphs here, so there is none to dump")
