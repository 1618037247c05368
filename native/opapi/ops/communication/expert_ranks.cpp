// native/opapi/ops/communication/expert_ranks.cpp
#include "opapi/ops/communication/expert_ranks.h"

#include <numeric>

namespace opwright::opapi {

std::vector<int64_t> rows_by_rank(const RowCounts& counts) {
  std::vector<int64_t> rows;
  for (const auto& experts : counts) rows.push_back(std::accumulate(experts.begin(), experts.end(), int64_t{0}));
  return rows;
}

std::vector<int64_t> rows_by_expert(const RowCounts& counts) {
  std::vector<int64_t> rows(counts.empty() ? 0 : counts.front().size(), 0);
  for (const auto& experts : counts) {
    for (size_t expert = 0; expert < rows.size(); ++expert) rows[expert] += experts[expert];
  }
  return rows;
}

at::Tensor order_by_expert(const RowCounts& received) {
  std::vector<int64_t> begins;  // of each rank's rows for each expert, in the order of the ranks
  int64_t begin = 0;
  for (const auto& experts : received) {
    for (const int64_t rows : experts) {
      begins.push_back(begin);
      begin += rows;
    }
  }
  at::Tensor order = at::empty({begin}, at::kLong);
  auto* next = order.mutable_data_ptr<int64_t>();
  const size_t experts = received.empty() ? 0 : received.front().size();
  for (size_t expert = 0; expert < experts; ++expert) {
    for (size_t rank = 0; rank < received.size(); ++rank) {
      std::iota(next, next + received[rank][expert], begins[rank * experts + expert]);
      next += received[rank][expert];
    }
  }
  return order;
}

}  // namespace opwright::opapi
