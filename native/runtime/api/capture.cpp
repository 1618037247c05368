// native/runtime/api/capture.cpp
// Capture and replay of NPU graphs. Not part of this version: queries answer truthfully that nothing is being captured,
// everything that would start a capture is refused.
#include "acl/acl_mdl.h"
#include "runtime/call.h"
#include "runtime/device.h"

using namespace opwright;

aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus* status, aclmdlRI* modelRI) {
  return call(
      "aclmdlRICaptureGetInfo",
      [&] {
        stream_of(stream);
        out(status, "status") = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
        if (modelRI != nullptr) *modelRI = nullptr;
      },
      arg("stream", stream));
}

aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode* mode) {
  return call("aclmdlRICaptureThreadExchangeMode", [&] {
    thread_local aclmdlRICaptureMode current = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
    std::swap(current, out(mode, "mode"));
  });
}

#define NO_CAPTURE "graph capture is not part of this version of the twin; run the model eagerly"
OPWRIGHT_REFUSE(aclError, aclmdlRICaptureBegin, (aclrtStream, aclmdlRICaptureMode), NO_CAPTURE)
OPWRIGHT_REFUSE(aclError, aclmdlRICaptureEnd, (aclrtStream, aclmdlRI*), NO_CAPTURE)
OPWRIGHT_REFUSE(aclError, aclmdlRICaptureToModelRIBegin, (aclrtStream, aclmdlRI, aclmdlRICaptureMode), NO_CAPTURE)
OPWRIGHT_REFUSE(aclError, aclmdlRICaptureTaskGrpBegin, (aclrtStream), NO_CAPTURE)
OPWRIGHT_REFUSE(aclError, aclmdlRICaptureTaskGrpEnd, (aclrtStream, aclrtTaskGrp*), NO_CAPTURE)
OPWRIGHT_REFUSE(aclError, aclmdlRICaptureTaskUpdateBegin, (aclrtStream, aclrtTaskGrp), NO_CAPTURE)
OPWRIGHT_REFUSE(aclError, aclmdlRICaptureTaskUpdateEnd, (aclrtStream), NO_CAPTURE)
OPWRIGHT_REFUSE(aclError, aclmdlRIExecuteAsync, (aclmdlRI, aclrtStream), NO_CAPTURE)
OPWRIGHT_REFUSE(aclError, aclmdlRIDestroy, (aclmdlRI), NO_CAPTURE)
OPWRIGHT_REFUSE(aclError, aclmdlRIGetId, (aclmdlRI, uint32_t*), NO_CAPTURE)
OPWRIGHT_REFUSE(aclError, aclmdlRIDebugPrint, (aclmdlRI), NO_CAPTURE)
OPWRIGHT_REFUSE(aclError, aclmdlRIDebugJsonPrint, (aclmdlRI, const char*, uint32_t), NO_CAPTURE)
OPWRIGHT_REFUSE(aclError, aclmdlRIAddCondTask, (aclmdlRICondTaskParams, aclrtStream, uint32_t), NO_CAPTURE)
OPWRIGHT_REFUSE(aclError, aclmdlRICondHandleCreate, (aclmdlRI, uint32_t, aclmdlRICondHandleFlag, aclmdlRICondHandle*),
                NO_CAPTURE)
OPWRIGHT_REFUSE(aclError, aclmdlRICondHandleGetCondPtr, (aclmdlRICondHandle, uint64_t**), NO_CAPTURE)
