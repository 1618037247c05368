// native/abi/rts/rts.h
// The four functions of CANN's internal runtime interface that torch_npu links to or looks up.
#pragma once

#include <stdint.h>

#include "acl/acl_base.h"

typedef int32_t rtError_t;
typedef void* rtStream_t;
typedef struct tagRtDevBinary rtDevBinary_t;
typedef struct tagRtSmCtrl rtSmDesc_t;

#pragma GCC visibility push(default)
extern "C" {

rtError_t rtDevBinaryRegister(const rtDevBinary_t* bin, void** handle);
rtError_t rtFunctionRegister(void* binHandle, const void* stubFunc, const char* stubName, const void* devFunc,
                             uint32_t funcMode);
rtError_t rtGetC2cCtrlAddr(uint64_t* addr, uint32_t* len);
rtError_t rtKernelLaunch(const void* stubFunc, uint32_t blockDim, void* args, uint32_t argsSize, rtSmDesc_t* smDesc,
                         rtStream_t stream);

}  // extern "C"
#pragma GCC visibility pop
