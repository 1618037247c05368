// native/runtime/api/device_binary.cpp
// Loading and launching device binaries by aclrt functions: refused. Those by rt functions are in native/runtime/rts.
#include "acl/acl_rt.h"
#include "runtime/call.h"

OPWRIGHT_REFUSE(aclError, aclrtBinaryLoadFromData,
                (const void*, size_t, const aclrtBinaryLoadOptions*, aclrtBinHandle*),
                "device binaries cannot run on a CPU; give the operator a reference kernel (opwright.twin.kernel)")
OPWRIGHT_REFUSE(aclError, aclrtBinaryGetFunction, (aclrtBinHandle, const char*, aclrtFuncHandle*),
                "device binaries cannot run on a CPU")
OPWRIGHT_REFUSE(aclError, aclrtGetFunctionAddr, (aclrtFuncHandle, void**, void**),
                "device binaries cannot run on a CPU")
OPWRIGHT_REFUSE(aclError, aclrtGetHardwareSyncAddr, (void**), "device binaries cannot run on a CPU")
OPWRIGHT_REFUSE(aclError, aclrtLaunchKernelWithHostArgs,
                (aclrtFuncHandle, uint32_t, aclrtStream, aclrtLaunchKernelCfg*, void*, size_t, aclrtPlaceHolderInfo*,
                 size_t),
                "device binaries cannot run on a CPU")
