// native/opapi/ops/random/sleep.cpp
// Waiting on a stream.
#include <chrono>
#include <thread>

#include "opapi/opapi.h"

namespace {

void sleep(at::IntArrayRef cycles) {
  require(cycles.size() == 1 && cycles[0] > 0, ACLNN_ERR_PARAM_INVALID, "cycles must be one positive number");
  constexpr double kCyclesPerSecond = 1.65e9;  // the clock that the function's documentation assumes
  std::this_thread::sleep_for(std::chrono::duration<double>(static_cast<double>(cycles[0]) / kCyclesPerSecond));
}

}  // namespace

// The stream waits as long as the device would; the caller does not.
ACLNN(Sleep, (Ints, cycles), sleep(cycles))
