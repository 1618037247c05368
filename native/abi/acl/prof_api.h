// native/abi/acl/prof_api.h
// The reporting interface of CANN's profiler (libprofapi), which torch_npu links to through libascendcl.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "acl/opwright_language.h"

typedef void* VOID_PTR;
typedef int32_t (*ProfCommandHandle)(uint32_t type, void* data, uint32_t len);
struct MsprofApi;

#pragma GCC visibility push(default)
OPWRIGHT_BEGIN_C

int32_t MsprofRegisterCallback(uint32_t moduleId, ProfCommandHandle handle);
int32_t MsprofReportApi(uint32_t nonPersistantFlag, const struct MsprofApi* api);
int32_t MsprofReportCompactInfo(uint32_t nonPersistantFlag, const VOID_PTR data, uint32_t length);
int32_t MsprofReportAdditionalInfo(uint32_t nonPersistantFlag, const VOID_PTR data, uint32_t length);
uint64_t MsprofGetHashId(const char* hashInfo, size_t length);
uint64_t MsprofSysCycleTime(void);

OPWRIGHT_END_C
#pragma GCC visibility pop
