// native/runtime/descriptors/data_buffer.h
// The memory of an operand of the legacy operator path: an address and a size, not owned.
#pragma once

#include <cstddef>

#include "acl/acl_base.h"

struct aclDataBuffer {
  void* data;
  size_t size;
};
