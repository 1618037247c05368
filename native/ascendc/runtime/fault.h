// native/ascendc/runtime/fault.h
// Signals that the code of a kernel causes end its launch, not the process.
#pragma once

#include <csetjmp>
#include <csignal>
#include <cstdint>

#include "ascendc/runtime/location.h"

namespace AscendC::machine {

// Where a core's execution returns to after a signal.
struct FaultFrame {
  sigjmp_buf jump;
  int number = 0;
  uintptr_t address = 0;
  bool address_known = true;
  bool stack_used_up = false;
  Site site;
};

void install_kernel_faults();

// Lets the calling thread handle signals also when its stack is used up.
void prepare_thread_for_faults();

// The frame that signals of the calling thread lead to; nullptr while it runs no kernel.
FaultFrame* exchange_fault_frame(FaultFrame* frame);

}  // namespace AscendC::machine
