// native/runtime/memory/backing.h
// Whether the machine can back what devices allocate. Device memory takes pages of the machine when it is written, not
// when it is allocated, so the limits of devices alone let a program allocate what the system ends it for later. All
// devices of the process share one budget.
#pragma once

#include <cstddef>

namespace opwright::memory {

// Throws 207001 if the machine cannot back `size` bytes more, beside all that the devices of this process have
// allocated and a part that is left to the system. The caller holds no device's mutex.
void require_backing(int device, size_t size);

// That the device can still allocate: less than its limit leaves where the machine, which all devices share, has less.
size_t free_bytes(int device);

}  // namespace opwright::memory
