// native/abi/acl/acl_dump.h
// Dumps of operators: the codes of their errors, and dumping arguments (libascend_dump).
#pragma once

#include <cstdint>

#include "acl/acl_base.h"

enum : int {
  ACL_ERROR_WRITE_FILE = 100004,
  ACL_ERROR_PARSE_FILE = 100006,
  ACL_ERROR_INVALID_DUMP_CONFIG = 100009,
  ACL_ERROR_DUMP_ALREADY_RUN = 100044,
  ACL_ERROR_DUMP_NOT_RUN = 100045,
};

enum : uint32_t { ACL_OP_DUMP_OP_AICORE_ARGS = 1 };

#pragma GCC visibility push(default)
extern "C" {

aclError aclopStartDumpArgs(uint32_t dumpType, const char* path);
aclError aclopStopDumpArgs(uint32_t dumpType);

}  // extern "C"
#pragma GCC visibility pop
