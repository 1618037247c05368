// native/ascendc/runtime/api.cpp
// The C interface: launches as tasks of a stream, or in the calling thread.
#include <memory>

#include "ascendc/runtime/checks.h"
#include "ascendc/runtime/kinds.h"
#include "ascendc/runtime/launch.h"
#include "runtime/call.h"
#include "runtime/device.h"

using namespace opwright;
using namespace AscendC::machine;

namespace {

const opwright_ascendc_launch_t& given(const opwright_ascendc_launch_t* launch) {
  require(launch != nullptr, ACL_ERROR_INVALID_PARAM, "parameter 'launch' is null");
  return *launch;
}

class KernelTask final : public Task {
 public:
  explicit KernelTask(Program program) : program_(std::move(program)) {}

  void run() override { Launch(program_).run(); }
  const char* name() const noexcept override { return program_.name.c_str(); }
  std::string trace_args() const override {
    return text("\"blocks\":", program_.blocks, ",\"kind\":\"", text_of(program_.kind), "\"");
  }

 private:
  Program program_;
};

}  // namespace

aclError opwright_ascendc_launch(const opwright_ascendc_launch_t* launch, aclrtStream stream) {
  const char* const name = launch != nullptr && launch->name != nullptr ? launch->name : "opwright_ascendc_launch";
  return call(
      name, [&] { stream_of(stream)->submit(std::make_unique<KernelTask>(Program(given(launch), false))); },
      arg("blocks", launch != nullptr ? launch->blocks : 0), arg("stream", stream));
}

aclError opwright_ascendc_run(const opwright_ascendc_launch_t* launch) {
  const char* const name = launch != nullptr && launch->name != nullptr ? launch->name : "opwright_ascendc_run";
  return call(
      name,
      [&] {
        const Program program(given(launch), true);
        Launch(program).run();
      },
      arg("blocks", launch != nullptr ? launch->blocks : 0));
}

void opwright_ascendc_checks(int enabled) { set_checks(enabled != 0); }

int opwright_ascendc_checked(void) {
  try {
    return checks_enabled() ? 1 : 0;
  } catch (const Error&) {
    return 0;
  }
}

const char* opwright_ascendc_error(void) { return recent_message().c_str(); }
