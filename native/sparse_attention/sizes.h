// native/sparse_attention/sizes.h
// Sizes of MLA, absorbed. Included by files that are compiled for an instruction set: no functions here.
#pragma once

#include <cstdint>

namespace opwright::sparse {

constexpr int64_t kLatent = 512;  // columns of a compressed key, which are also its value
constexpr int64_t kRope = 64;     // columns with rotary positions

}  // namespace opwright::sparse
