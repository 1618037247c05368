// native/opapi/ops/communication/expert_visits.h
// Which tokens of this rank visit which experts.
//
// The first `shared_ranks` ranks each hold a copy of a shared expert, which every token visits; the others hold the
// same number of experts of the mixture each.
#pragma once

#include "opapi/ops/communication/expert_ranks.h"

namespace opwright::opapi {

struct ExpertLayout {
  const std::string& group;
  int64_t ranks, rank, experts;
  int64_t shared = 0, shared_ranks = 0;
  // Experts without a rank, after the others: they give zeros, the token itself, or a constant.
  int64_t zeros = 0, copies = 0, constants = 0;

  int64_t experts_on_rank() const { return experts / (ranks - shared_ranks); }
  int64_t local_experts(int64_t of) const { return of < shared_ranks ? 1 : experts_on_rank(); }
  int64_t everywhere() const { return experts + zeros + copies + constants; }
};

// Parameters that all of these functions have.
void require_layout(const ExpertLayout& layout, const RankGroup& ranks, int64_t tp_size, int64_t tp_rank,
                    int64_t shard);

// One visit of a token: `choice` numbers its experts, the shared ones after the others.
struct Visit {
  int64_t token, choice;
};

// The visits of this rank's tokens, [rank][expert there].
using Visits = std::vector<std::vector<std::vector<Visit>>>;

// Whether a token visits its choice: [tokens, choices], or all of them.
at::Tensor active_choices(const OptionalTensor& mask, const at::Tensor& ids);
void require_mask(const OptionalTensor& mask, const at::Tensor& ids);

Visits visits_of(const ExpertLayout& layout, const at::Tensor& ids, const at::Tensor& active);

// How many rows go to each expert.
RowCounts row_counts(const Visits& visits);

// One number of each visit, in the order in which rows are sent.
template <class Number>
at::Tensor numbers_of(const Visits& visits, const Number& number) {
  std::vector<int64_t> numbers;
  for (const auto& experts : visits) {
    for (const auto& of_expert : experts) {
      for (const Visit& visit : of_expert) numbers.push_back(number(visit));
    }
  }
  return at::tensor(numbers, at::kLong);
}

}  // namespace opwright::opapi
