// native/abi/acl/acl_dump.h
// Dumping the arguments of kernels (libascend_dump).
#ifndef INC_EXTERNAL_ACL_DUMP_H_
#define INC_EXTERNAL_ACL_DUMP_H_

#include "acl/acl_base.h"
#include "acl/opwright_language.h"

enum OPWRIGHT_ENUM_UINT32 { ACL_OP_DUMP_OP_AICORE_ARGS = 1 };

#pragma GCC visibility push(default)
OPWRIGHT_BEGIN_C

aclError aclopStartDumpArgs(uint32_t dumpType, const char* path);
aclError aclopStopDumpArgs(uint32_t dumpType);

OPWRIGHT_END_C
#pragma GCC visibility pop

#endif
