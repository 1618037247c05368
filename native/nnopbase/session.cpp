// native/nnopbase/session.cpp
// Calls around an operator that torch_npu makes and that need no work here. The executor cache is switched off by not
// exporting CanUsePTACache (torch_npu then skips all of it), so that every call goes through phase 1 and its checks.
#include "aclnn/acl_meta.h"
#include "runtime/call.h"

using namespace opwright;

aclnnStatus aclnnInit(const char* configPath) {
  return call("aclnnInit", [] {}, arg("configPath", configPath));
}

aclnnStatus aclnnFinalize() {
  return call("aclnnFinalize", [] {});
}

// Which random algorithm PyTorch wants: both names mean the same CPU generator here.
int32_t aclnnSetPytorchRandom(int32_t mode) {
  return call("aclnnSetPytorchRandom", [] {}, arg("mode", mode));
}

// "Huge memory" is a per-thread scratch arena of CANN's tiling code. Executors here own what they need.
int InitHugeMemThreadLocal(void*, bool) { return ACLNN_SUCCESS; }
void UnInitHugeMemThreadLocal(void*, bool) {}
void ReleaseHugeMem(void*, bool) {}

OPWRIGHT_REFUSE(int, StressDetect, (int32_t, void*, size_t), "there is no hardware to put under stress")
