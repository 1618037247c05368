// native/runtime/memory/extent.h
// Where device memory lies, for code that gets bare addresses: kernels in Ascend C.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/error.h"

namespace opwright::memory {

// Device addresses are those in [front, front + bytes); the host reaches them `distance` bytes further on.
struct Windows {
  uintptr_t front;
  size_t bytes;
  intptr_t distance;
};
OPWRIGHT_API Windows windows() noexcept;

// The live allocation or mapping around a device address; 0 bytes if there is none.
struct Extent {
  uintptr_t begin;
  size_t bytes;
};
OPWRIGHT_API Extent extent_of(const void* address);

// A device address as the host reaches it, any other one as it is.
OPWRIGHT_API const void* reachable(const void* address) noexcept;

}  // namespace opwright::memory
