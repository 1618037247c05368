// native/abi/acl/acl_rt_compile.h
// Compiling Ascend C while a program runs (libacl_rtc).
#ifndef ASCENDC_ACL_RT_COMPILE_H
#define ASCENDC_ACL_RT_COMPILE_H

#include <stddef.h>

#include "acl/acl_base.h"
#include "acl/opwright_language.h"

typedef void* aclrtcProg;

#pragma GCC visibility push(default)
OPWRIGHT_BEGIN_C

aclError aclrtcAddNameExpr(aclrtcProg prog, const char* const nameExpression);
aclError aclrtcCompileProg(aclrtcProg prog, int numOptions, const char** options);
aclError aclrtcCreateProg(aclrtcProg* prog, const char* src, const char* name, int numHeaders, const char** headers,
                          const char** includeNames);
aclError aclrtcDestroyProg(aclrtcProg* prog);
aclError aclrtcGetBinData(aclrtcProg prog, char* binData);
aclError aclrtcGetBinDataSize(aclrtcProg prog, size_t* binDataSizeRet);
aclError aclrtcGetCompileLog(aclrtcProg prog, char* log);
// Of the log with the zero that ends it.
aclError aclrtcGetCompileLogSize(aclrtcProg prog, size_t* logSizeRet);
aclError aclrtcGetLoweredName(aclrtcProg prog, const char* nameExpression, const char** loweredName);

OPWRIGHT_END_C
#pragma GCC visibility pop

#endif
