// native/runtime/rts/device_binary.cpp
// Device binaries: refused, because machine code for an NPU cannot run on a CPU.
#include "rts/rts.h"
#include "runtime/call.h"

#define OPWRIGHT_REFUSE_BINARY(NAME, PARAMS)                                                         \
  OPWRIGHT_REFUSE_WITH(rtError_t, NAME, PARAMS, ACL_ERROR_RT_FEATURE_NOT_SUPPORT,                    \
                       "a device binary cannot run on a CPU; give the operator a reference kernel, " \
                       "`opwright run --kernels FILE.py`, and call it through its aclnn function")

OPWRIGHT_REFUSE_BINARY(rtDevBinaryRegister, (const rtDevBinary_t*, void**))
OPWRIGHT_REFUSE_BINARY(rtFunctionRegister, (void*, const void*, const char*, const void*, uint32_t))
OPWRIGHT_REFUSE_BINARY(rtKernelLaunch, (const void*, uint32_t, void*, uint32_t, rtSmDesc_t*, rtStream_t))

OPWRIGHT_REFUSE_WITH(rtError_t, rtGetC2cCtrlAddr, (uint64_t*, uint32_t*), ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                     "a CPU has no registers for synchronizing AI cores")
