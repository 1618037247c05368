// native/atb/kinds.cpp
// This library's copy of what executors do with parameters (opapi/kinds.h), which libopapi does not export.
#include "opapi/opapi.h"

namespace opwright::opapi {

#define OPWRIGHT_DEFINE_OPERATIONS(KIND) template struct OperationsOf<kind::KIND>;
OPWRIGHT_EACH_KIND(OPWRIGHT_DEFINE_OPERATIONS)
#undef OPWRIGHT_DEFINE_OPERATIONS

}  // namespace opwright::opapi
