// native/runtime/profiling/features.cpp
// libmsprofiler: what newer profilers can besides. Without this library torch_npu cannot profile at all.
#include "acl/acl_prof.h"
#include "runtime/call.h"
#include "runtime/device.h"
#include "runtime/profiling/recorder.h"
#include "runtime/profiling/session.h"

using namespace opwright;

namespace {

// torch_npu's layout (torch_npu/csrc/profiler/feature_mgr.h): both have a virtual destructor.
struct Info {
  char compatibility[16] = "1";
  char feature_version[16] = "1";
  char component[16] = "all";
  char component_version[16] = "all";
  char log[128] = "recorded by the twin";
  virtual ~Info() = default;
};

struct Feature {
  char name[64] = "";
  Info info;
  explicit Feature(std::string_view text) { text.copy(name, sizeof name - 1); }
  virtual ~Feature() = default;
};

}  // namespace

aclError aclprofGetSupportedFeatures(size_t* featuresSize, void** featuresData) {
  return call("aclprofGetSupportedFeatures", [&] {
    // Arguments of operators that are no tensors, and shapes, are always recorded.
    static Feature features[] = {Feature("ATTR"), Feature("AICORE_SHAPE")};
    out(featuresSize, "featuresSize", ACL_ERROR_INVALID_PARAM) = std::size(features);
    out(featuresData, "featuresData", ACL_ERROR_INVALID_PARAM) = features;
  });
}

// Recording needs nothing that takes time to start.
aclError aclprofWarmup(const aclprofConfig* profilerConfig) {
  return call("aclprofWarmup", [&] {
    out(profilerConfig, "profilerConfig", ACL_ERROR_INVALID_PARAM);
    profiling::require_session();
  });
}

// Devices that a program begins to use while a profile runs: their tasks are recorded anyway.
aclError aclprofRegisterDeviceCallback(void) {
  return call("aclprofRegisterDeviceCallback", [] { profiling::require_session(); });
}

aclError aclprofMarkEx(const char* msg, size_t msgLen, aclrtStream stream) {
  return call(
      "aclprofMarkEx",
      [&] {
        require(msg != nullptr, ACL_ERROR_INVALID_PARAM, "parameter 'msg' is null");
        const auto target = stream_of(stream);
        target->submit(make_bookkeeping(
            "aclprofMarkEx", [device = target->device(), id = target->id(), message = std::string(msg, msgLen)] {
              profiling::note_mark(device, id, message);
            }));
      },
      arg("msgLen", msgLen));
}

OPWRIGHT_REFUSE_WITH(aclError, aclprofSetConfig, (aclprofConfigType, const char*, size_t),
                     ACL_ERROR_PROF_MODULES_UNSUPPORTED,
                     "the counters of a chip and of its host (memory, links, processors) are not there to be sampled")
