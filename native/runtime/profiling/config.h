// native/runtime/profiling/config.h
// A caller's choice of what to profile.
#pragma once

#include <cstdint>
#include <vector>

#include "acl/acl_prof.h"

// Every profile holds all that the twin records; which metrics and kinds of data a caller asks for makes no difference.
struct aclprofConfig {
  std::vector<uint32_t> devices;
};

struct aclprofStepInfo {};
