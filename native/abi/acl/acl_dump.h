// native/abi/acl/acl_dump.h
// Dumping the arguments of operators (libascend_dump).
#pragma once

#include "acl/acl_base.h"

#pragma GCC visibility push(default)
extern "C" {

aclError aclopStartDumpArgs(uint32_t dumpType, const char* path);
aclError aclopStopDumpArgs(uint32_t dumpType);

}  // extern "C"
#pragma GCC visibility pop
