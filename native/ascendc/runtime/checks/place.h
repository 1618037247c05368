// native/ascendc/runtime/checks/place.h
// Who did something: an instruction of the kernel's source, on one core.
#pragma once

#include <string>

#include "ascendc/runtime/location.h"
#include "core/position.h"

namespace AscendC::machine {

struct Place {
  const char* api;
  Pipe pipe;
  Site site;
  std::string core;
};

const char* name_of(Pipe pipe);

// "kernel.cpp:12, Add (PIPE_V) of block 0 of 8"
std::string text_of(const Place& place);

}  // namespace AscendC::machine
