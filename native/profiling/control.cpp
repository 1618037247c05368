// native/profiling/control.cpp
// Starting and stopping CANN's profiler: refused, because its result files describe hardware that is not there.
#include "acl/acl_prof.h"
#include "runtime/call.h"

#define OPWRIGHT_REFUSE_PROFILING(NAME, PARAMS)                                                                 \
  OPWRIGHT_REFUSE_WITH(aclError, NAME, PARAMS, ACL_ERROR_PROF_MODULES_UNSUPPORTED,                              \
                       "there are no hardware counters to read; record every call and task with `opwright run " \
                       "--trace FILE` (or OPWRIGHT_TRACE=FILE) instead")

OPWRIGHT_REFUSE_PROFILING(aclprofInit, (const char*, size_t))
OPWRIGHT_REFUSE_PROFILING(aclprofFinalize, (void))
OPWRIGHT_REFUSE_PROFILING(aclprofStart, (const aclprofConfig*))
OPWRIGHT_REFUSE_PROFILING(aclprofStop, (const aclprofConfig*))
OPWRIGHT_REFUSE_PROFILING(aclprofGetStepTimestamp, (aclprofStepInfo*, aclprofStepTag, aclrtStream))
