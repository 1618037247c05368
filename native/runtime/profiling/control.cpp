// native/runtime/profiling/control.cpp
// aclprofInit to aclprofFinalize: what runs between start and stop is recorded. There are no hardware counters: the
// results have times and operands, not the use of the chip's units.
#include "acl/acl_prof.h"
#include "runtime/call.h"
#include "runtime/device.h"
#include "runtime/profiling/recorder.h"
#include "runtime/profiling/session.h"

using namespace opwright;

aclError aclprofInit(const char* profilerResultPath, size_t length) {
  return call(
      "aclprofInit",
      [&] {
        require(profilerResultPath != nullptr, ACL_ERROR_INVALID_PARAM, "parameter 'profilerResultPath' is null");
        profiling::open_session(std::string(profilerResultPath, length));
      },
      arg("length", length));
}

aclError aclprofStart(const aclprofConfig* profilerConfig) {
  return call("aclprofStart",
              [&] { profiling::start(out(profilerConfig, "profilerConfig", ACL_ERROR_INVALID_PARAM)); });
}

aclError aclprofStop(const aclprofConfig* profilerConfig) {
  return call("aclprofStop", [&] {
    const aclprofConfig& config = out(profilerConfig, "profilerConfig", ACL_ERROR_INVALID_PARAM);
    for (const uint32_t device : config.devices) {  // what was launched before belongs to the profile
      for (const auto& stream : streams_of(static_cast<int>(device))) stream->wait(std::nullopt);
    }
    profiling::stop();
  });
}

aclError aclprofFinalize(void) {
  return call("aclprofFinalize", [] { profiling::close_session(); });
}

aclError aclprofGetStepTimestamp(aclprofStepInfo* stepInfo, aclprofStepTag tag, aclrtStream stream) {
  return call(
      "aclprofGetStepTimestamp",
      [&] {
        out(stepInfo, "stepInfo", ACL_ERROR_INVALID_PARAM);
        const auto target = stream_of(stream);
        target->submit(make_bookkeeping("aclprofGetStepTimestamp", [device = target->device(), id = target->id(), tag] {
          profiling::note_step(device, id, tag);
        }));
      },
      arg("tag", tag));
}
