// native/ascendc/runtime/kinds.h
// Which cores a kernel runs on: as its source declares it, else after the units that its library uses.
#pragma once

#include <string>

#include "core/machine.h"

namespace AscendC::machine {

// `in_library` is any address of the library that the kernel is in.
KernelKind kind_of_kernel(const std::string& name, uint64_t tiling_key, const void* in_library);

const char* text_of(KernelKind kind);

}  // namespace AscendC::machine
