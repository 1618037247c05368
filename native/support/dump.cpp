// native/support/dump.cpp
// libascend_dump, dumping the arguments of operators: refused.
#include "acl/acl_dump.h"
#include "runtime/call.h"

#define OPWRIGHT_REFUSE_DUMP(NAME, PARAMS) \
  OPWRIGHT_REFUSE(aclError, NAME, PARAMS,  \
                  "operators' arguments cannot be dumped; `opwright run --trace FILE` records every call instead")

OPWRIGHT_REFUSE_DUMP(aclopStartDumpArgs, (uint32_t, const char*))
OPWRIGHT_REFUSE_DUMP(aclopStopDumpArgs, (uint32_t))
