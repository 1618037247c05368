// native/abi/acl/acl_dump.h
// Dumping the arguments of kernels (libascend_dump).
#pragma once

#include "acl/acl_base.h"

enum : uint32_t { ACL_OP_DUMP_OP_AICORE_ARGS = 1 };

#pragma GCC visibility push(default)
extern "C" {

aclError aclopStartDumpArgs(uint32_t dumpType, const char* path);
aclError aclopStopDumpArgs(uint32_t dumpType);

}  // extern "C"
#pragma GCC visibility pop
