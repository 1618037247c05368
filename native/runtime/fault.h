// native/runtime/fault.h
// Explains a segmentation fault that the twin's isolation caused.
#pragma once

namespace opwright {

// Installs the handler, in front of what is there: nothing happens if it is the first already. It writes one paragraph
// to standard error (which address, which device, which operator was running) and hands the signal on to whoever was
// there before, so that faulthandler and core dumps still work.
void install_fault_handler() noexcept;

}  // namespace opwright
