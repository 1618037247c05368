// native/opapi/threads.h
// How many threads an operator computes with: as many as the caller has, or one if its operands are small.
#pragma once

#include <cstdint>

namespace opwright::opapi {

// Phase 1 takes an operand of that many elements.
void note_operand(int64_t elements) noexcept;

}  // namespace opwright::opapi
