// native/abi/acl/acl_prof.h
// Profiling control.
#ifndef INC_EXTERNAL_ACL_PROF_H_
#define INC_EXTERNAL_ACL_PROF_H_

#include "acl/acl_base.h"
#include "acl/opwright_language.h"

typedef struct aclprofConfig aclprofConfig;
typedef struct aclprofStepInfo aclprofStepInfo;
typedef struct aclprofAicoreEvents aclprofAicoreEvents;
typedef int aclprofAicoreMetrics;
typedef int aclprofConfigType;
typedef int aclprofStepTag;

#pragma GCC visibility push(default)
OPWRIGHT_BEGIN_C

// Profiling
aclprofConfig* aclprofCreateConfig(uint32_t* deviceIdList, uint32_t deviceNums, aclprofAicoreMetrics aicoreMetrics,
                                   const aclprofAicoreEvents* aicoreEvents, uint64_t dataTypeConfig);
aclprofStepInfo* aclprofCreateStepInfo(void);
aclError aclprofDestroyConfig(const aclprofConfig* profilerConfig);
void aclprofDestroyStepInfo(aclprofStepInfo* stepinfo);
aclError aclprofFinalize(void);
aclError aclprofGetStepTimestamp(aclprofStepInfo* stepInfo, aclprofStepTag tag, aclrtStream stream);
aclError aclprofInit(const char* profilerResultPath, size_t length);
aclError aclprofGetSupportedFeatures(size_t* featuresSize, void** featuresData);
aclError aclprofMarkEx(const char* msg, size_t msgLen, aclrtStream stream);
aclError aclprofRegisterDeviceCallback(void);
aclError aclprofSetConfig(aclprofConfigType configType, const char* config, size_t configLength);
aclError aclprofStart(const aclprofConfig* profilerConfig);
aclError aclprofStop(const aclprofConfig* profilerConfig);
aclError aclprofWarmup(const aclprofConfig* profilerConfig);

OPWRIGHT_END_C
#pragma GCC visibility pop

#endif
