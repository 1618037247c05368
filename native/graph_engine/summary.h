// native/graph_engine/summary.h
// The facts behind ge::CompiledGraphSummary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ge/session.h"

namespace ge {

class SummaryData {
 public:
  uint64_t graph = 0;       // the engine's number
  bool is_static = false;   // every shape is known
  size_t const_memory = 0;  // bytes
  size_t feature_memory = 0;
  size_t fixed_feature_memory = 0;
  bool refreshable = false;  // the feature memory may move between runs
  std::vector<std::vector<int64_t>> output_dims;
  std::vector<DataType> output_types;
};

struct SummaryAccess {
  static const SummaryData& data(const CompiledGraphSummary& summary) { return *summary.data_; }
};

}  // namespace ge
