#pragma once

#include <cstdint>

struct CountTiling {
  int64_t count;
};

struct ScaleTilingData {
  int64_t count;
  int64_t values;
  int64_t factor;
  float offset;
};
