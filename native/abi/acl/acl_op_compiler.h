// native/abi/acl/acl_op_compiler.h
// Compile options and the legacy single-operator execution path.
#ifndef INC_EXTERNAL_ACL_ACL_OP_COMPILER_H_
#define INC_EXTERNAL_ACL_ACL_OP_COMPILER_H_

#include "acl/acl_base.h"
#include "acl/acl_op.h"
#include "acl/opwright_language.h"

typedef struct aclGraphDumpOption aclGraphDumpOption;
typedef enum aclCompileType { ACL_COMPILE_SYS, ACL_COMPILE_UNREGISTERED } aclopCompileType;
typedef enum {
  ACL_PRECISION_MODE,
  ACL_AICORE_NUM,
  ACL_AUTO_TUNE_MODE,
  ACL_OP_SELECT_IMPL_MODE,
  ACL_OPTYPELIST_FOR_IMPLMODE,
  ACL_OP_DEBUG_LEVEL,
  ACL_DEBUG_DIR,
  ACL_OP_COMPILER_CACHE_MODE,
  ACL_OP_COMPILER_CACHE_DIR,
  ACL_OP_PERFORMANCE_MODE,
  ACL_OP_JIT_COMPILE,
  ACL_OP_DETERMINISTIC,
  ACL_CUSTOMIZE_DTYPES,
  ACL_OP_PRECISION_MODE,
  ACL_ALLOW_HF32,
  ACL_PRECISION_MODE_V2,
  ACL_OP_DEBUG_OPTION
} aclCompileOpt;

#pragma GCC visibility push(default)
OPWRIGHT_BEGIN_C

// Options and execution
aclGraphDumpOption* aclCreateGraphDumpOpt(void);
aclError aclDestroyGraphDumpOpt(const aclGraphDumpOption* graphDumpOpt);
aclError aclGenGraphAndDumpForOp(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[],
                                 const aclDataBuffer* const inputs[], int numOutputs,
                                 const aclTensorDesc* const outputDesc[], aclDataBuffer* const outputs[],
                                 const aclopAttr* attr, aclopEngineType engineType, const char* graphDumpPath,
                                 const aclGraphDumpOption* graphDumpOpt);
aclError aclGetCompileopt(aclCompileOpt opt, char* value, size_t length);
size_t aclGetCompileoptSize(aclCompileOpt opt);
aclError aclopCompileAndExecute(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[],
                                const aclDataBuffer* const inputs[], int numOutputs,
                                const aclTensorDesc* const outputDesc[], aclDataBuffer* const outputs[],
                                const aclopAttr* attr, aclopEngineType engineType, aclopCompileType compileFlag,
                                const char* opPath, aclrtStream stream);
aclError aclopCompileAndExecuteV2(const char* opType, int numInputs, aclTensorDesc* inputDesc[],
                                  aclDataBuffer* inputs[], int numOutputs, aclTensorDesc* outputDesc[],
                                  aclDataBuffer* outputs[], aclopAttr* attr, aclopEngineType engineType,
                                  aclopCompileType compileFlag, const char* opPath, aclrtStream stream);
aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value);
aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value);
aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value);
aclError aclSetCompileopt(aclCompileOpt opt, const char* value);

OPWRIGHT_END_C
#pragma GCC visibility pop

#endif
