// network/Samples.h: the two shapes with which layers are inferred where a range is declared. Not part of the vendor's
// API.
#ifndef ASCENDIE_NETWORK_SAMPLES_H
#define ASCENDIE_NETWORK_SAMPLES_H

#include <cstdint>
#include <vector>

#include "common/Common.h"
#include "common/Dims.h"

namespace AscendIE {

/// The ends of the range. A size that may be 0 is 1: few layers take nothing. A size without bounds is 32 and 64.
ASCENDIE_API std::vector<int64_t> LeastSample(const DimsRange& range);
ASCENDIE_API std::vector<int64_t> GreatestSample(const DimsRange& range);

}  // namespace AscendIE
#endif
