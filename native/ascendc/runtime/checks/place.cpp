// native/ascendc/runtime/checks/place.cpp
#include "ascendc/runtime/checks/place.h"

#include "runtime/error.h"

namespace AscendC::machine {

const char* name_of(Pipe pipe) {
  constexpr const char* kNames[] = {"PIPE_S", "PIPE_V", "PIPE_M", "PIPE_MTE1", "PIPE_MTE2", "PIPE_MTE3", "PIPE_FIX"};
  return kNames[static_cast<size_t>(pipe)];
}

std::string text_of(const Place& place) {
  return opwright::text(place_of(place.site), ", ", place.api, " (", name_of(place.pipe), "), ", place.core);
}

}  // namespace AscendC::machine
