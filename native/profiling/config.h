// native/profiling/config.h
// What a caller wants profiled.
#pragma once

#include <cstdint>
#include <vector>

#include "acl/acl_prof.h"

struct aclprofConfig {
  std::vector<uint32_t> devices;
  aclprofAicoreMetrics aicore_metrics;
  uint64_t data_types;  // bit set of ACL_PROF_*
};

struct aclprofStepInfo {};
