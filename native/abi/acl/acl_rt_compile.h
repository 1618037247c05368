// native/abi/acl/acl_rt_compile.h
// Compiling Ascend C while a program runs (libacl_rtc).
#ifndef ASCENDC_ACL_RT_COMPILE_H
#define ASCENDC_ACL_RT_COMPILE_H

#include <stddef.h>

#include "acl/acl_base.h"
#include "acl/opwright_language.h"

typedef void* aclrtcProg;

// CANN's codes for these functions.
enum OPWRIGHT_ENUM_INT {
  ACL_ERROR_RTC_INVALID_PROG = 176000,
  ACL_ERROR_RTC_INVALID_INPUT = 176001,
  ACL_ERROR_RTC_INVALID_OPTION = 176002,
  ACL_ERROR_RTC_COMPILATION = 176003,
  ACL_ERROR_RTC_LINKING = 176004,
  ACL_ERROR_RTC_NO_NAME_EXPR_AFTER_COMPILATION = 176005,
  ACL_ERROR_RTC_NO_LOWERED_NAMES_BEFORE_COMPILATION = 176006,
  ACL_ERROR_RTC_NAME_EXPR_NOT_VALID = 176007,
  ACL_ERROR_RTC_PROG_CREATION_FAILURE = 276000,
  ACL_ERROR_RTC_OUT_OF_MEMORY = 276001,
  ACL_ERROR_RTC_FAILURE = 576000
};

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
