// native/runtime/api/dump.cpp
// aclmdlInitDump to aclmdlFinalizeDump. torch_npu opens and closes dumps around every process, with or without one to
// make.
#include "runtime/data_dump/dump.h"

#include <cstdio>

#include "acl/acl_rt.h"
#include "runtime/call.h"
#include "runtime/data_dump/config.h"
#include "runtime/json.h"
#include "runtime/log.h"

using namespace opwright;

namespace {

// torch_npu drops the status of these calls, so the error is written at once, and not again when nobody reads it.
aclError report(int status) {
  if (status != ACL_SUCCESS) {
    std::fprintf(stderr, "opwright: %s\n", recent_message().c_str());
    log::note_error_read();
  }
  return status;
}

}  // namespace

aclError aclmdlInitDump() {
  return report(call("aclmdlInitDump", [] { data_dump::open(); }));
}

// Of the graphs, those that are compiled from now on are dumped; of single operators, those that are launched.
aclError aclmdlSetDump(const char* dumpCfgPath) {
  return report(call(
      "aclmdlSetDump",
      [&] {
        require(dumpCfgPath != nullptr, ACL_ERROR_INVALID_PARAM, "parameter 'dumpCfgPath' is null");
        const json::Value file = json::read(dumpCfgPath);
        const json::Value* const dump = file.find("dump");
        require(dump != nullptr, ACL_ERROR_INVALID_DUMP_CONFIG, "'", dumpCfgPath, "' has no entry 'dump'");
        data_dump::set(data_dump::read_config(*dump));
      },
      arg("dumpCfgPath", dumpCfgPath)));
}

aclError aclmdlFinalizeDump() {
  return call("aclmdlFinalizeDump", [] { data_dump::close(); });
}
