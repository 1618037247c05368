// host/tiling/high_level/data.h
// The tiling structures of the high-level API for host code: classes with setters (namespace optiling), for operators
// with tiling data classes, and plain structures (namespace AscendC::tiling), which are what a kernel gets.
#pragma once

#include "ascendc/shared/tiling_structs.h"
#include "register/tilingdata_base.h"

namespace optiling {

#define OPWRIGHT_TILING_CLASS(name) \
  BEGIN_TILING_DATA_DEF(name)       \
  OPWRIGHT_FIELDS_OF_##name(TILING_DATA_FIELD_DEF) END_TILING_DATA_DEF;
OPWRIGHT_TILINGS(OPWRIGHT_TILING_CLASS)
#undef OPWRIGHT_TILING_CLASS

// Copies a plain structure into the class of its name, or assigns the structure.
#define OPWRIGHT_COPY_FIELD(type, name) to.set_##name(from.name);
#define OPWRIGHT_COPY(name)                                              \
  inline void copy_tiling(name& to, const AscendC::tiling::name& from) { \
    OPWRIGHT_FIELDS_OF_##name(OPWRIGHT_COPY_FIELD)                       \
  }                                                                      \
  inline void copy_tiling(AscendC::tiling::name& to, const AscendC::tiling::name& from) { to = from; }
OPWRIGHT_TILINGS(OPWRIGHT_COPY)
#undef OPWRIGHT_COPY
#undef OPWRIGHT_COPY_FIELD

}  // namespace optiling
