// native/graph_engine/summary.cpp
// ge::CompiledGraphSummary.
#include "graph_engine/summary.h"

#include <utility>

namespace ge {

CompiledGraphSummary::CompiledGraphSummary(std::shared_ptr<SummaryData> data) : data_(std::move(data)) {}

CompiledGraphSummary::~CompiledGraphSummary() = default;

bool CompiledGraphSummary::IsStatic() const { return data_->is_static; }

Status CompiledGraphSummary::GetConstMemorySize(size_t& size) const {
  size = data_->const_memory;
  return SUCCESS;
}

Status CompiledGraphSummary::GetFeatureMemorySize(size_t& size) const {
  size = data_->feature_memory;
  return SUCCESS;
}

Status CompiledGraphSummary::GetFixedFeatureMemorySize(size_t& size) const {
  size = data_->fixed_feature_memory;
  return SUCCESS;
}

Status CompiledGraphSummary::GetFeatureMemoryBaseRefreshable(bool& refreshable) const {
  refreshable = data_->refreshable;
  return SUCCESS;
}

Status CompiledGraphSummary::GetOutputShapes(std::vector<Shape>& shapes) const {
  shapes.clear();
  for (const auto& dims : data_->output_dims) shapes.emplace_back(dims);
  return SUCCESS;
}

Status CompiledGraphSummary::GetOutputDtypes(std::vector<DataType>& types) const {
  types = data_->output_types;
  return SUCCESS;
}

}  // namespace ge
