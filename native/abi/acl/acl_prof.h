// native/abi/acl/acl_prof.h
// Profiling control.
#pragma once

#include "acl/acl_base.h"

typedef struct aclprofConfig aclprofConfig;
typedef struct aclprofStepInfo aclprofStepInfo;
typedef struct aclprofAicoreEvents aclprofAicoreEvents;
typedef int aclprofAicoreMetrics;
typedef int aclprofStepTag;

#pragma GCC visibility push(default)
extern "C" {

// Profiling
aclprofConfig* aclprofCreateConfig(uint32_t* deviceIdList, uint32_t deviceNums, aclprofAicoreMetrics aicoreMetrics,
                                   const aclprofAicoreEvents* aicoreEvents, uint64_t dataTypeConfig);
aclprofStepInfo* aclprofCreateStepInfo(void);
aclError aclprofDestroyConfig(const aclprofConfig* profilerConfig);
void aclprofDestroyStepInfo(aclprofStepInfo* stepinfo);
aclError aclprofFinalize(void);
aclError aclprofGetStepTimestamp(aclprofStepInfo* stepInfo, aclprofStepTag tag, aclrtStream stream);
aclError aclprofInit(const char* profilerResultPath, size_t length);
aclError aclprofStart(const aclprofConfig* profilerConfig);
aclError aclprofStop(const aclprofConfig* profilerConfig);

}  // extern "C"
#pragma GCC visibility pop
