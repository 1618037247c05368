// native/ascendc/shared/tiling_structs.h
// The tiling structures of the high-level API as a kernel sees them and as plain host code fills them.
#pragma once

#include <cstdint>

#include "ascendc/shared/tiling_fields.h"

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
