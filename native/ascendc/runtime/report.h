// native/ascendc/runtime/report.h
// The text of an error in a kernel.
#pragma once

#include <cstdint>
#include <string>

#include "ascendc/runtime/fault.h"
#include "ascendc/runtime/location.h"

namespace AscendC::machine {

// The report of one fault. Empty parts are left out.
struct Finding {
  const char* id;     // OPW-X…, in docs/errors.md
  std::string title;  // what is wrong
  std::string call;   // the API function, and which operand of it
  std::string got;
  std::string allowed;
  Site site{};
  std::string other;  // the other access of a pair
  Site other_site{};
};

// "block 3 of 8, vector core 1" of the calling thread.
std::string core_text();

// The finding on the calling thread's core.
std::string describe(const Finding& finding);

std::string describe_signal(const FaultFrame& frame);

}  // namespace AscendC::machine
