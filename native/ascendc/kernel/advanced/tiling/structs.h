// native/ascendc/kernel/advanced/tiling/structs.h
// The tiling structures as a kernel sees them.
#pragma once

#include <cstdint>

#include "fields.h"

namespace AscendC::tiling {

#define OPWRIGHT_FIELD(type, name) type name = 0;
#define OPWRIGHT_STRUCT(name)                 \
  struct name {                               \
    OPWRIGHT_FIELDS_OF_##name(OPWRIGHT_FIELD) \
  };
OPWRIGHT_TILINGS(OPWRIGHT_STRUCT)
#undef OPWRIGHT_STRUCT
#undef OPWRIGHT_FIELD

}  // namespace AscendC::tiling
