// native/opapi/ops/communication/expert_visits.cpp
#include "opapi/ops/communication/expert_visits.h"

#include "opapi/ops/common/low_precision.h"

namespace opwright::opapi {

void require_layout(const ExpertLayout& layout, const RankGroup& ranks, int64_t tp_size, int64_t tp_rank,
                    int64_t shard) {
  const auto check = [](bool holds, auto... what) { require(holds, ACLNN_ERR_PARAM_INVALID, what...); };
  check(layout.ranks == static_cast<int64_t>(ranks.size()) && layout.rank == static_cast<int64_t>(ranks.rank()),
        "epWorldSize and epRankId are ", layout.ranks, " and ", layout.rank, "; those of the communicator are ",
        ranks.size(), " and ", ranks.rank());
  check(tp_size == 0 || tp_size == 1, "tpWorldSize is ", tp_size, "; allowed: 0, 1");
  check(tp_rank == 0, "tpRankId is ", tp_rank, "; allowed: 0");
  check(shard == 0, "expertShardType is ", shard, "; allowed: 0");
  check(layout.shared_ranks >= 0 && layout.shared_ranks < layout.ranks, "sharedExpertRankNum is ", layout.shared_ranks,
        "; allowed: 0 to ", layout.ranks - 1);
  check(layout.shared_ranks == 0 || (layout.shared > 0 && layout.shared_ranks % layout.shared == 0),
        "sharedExpertRankNum is ", layout.shared_ranks, "; it must be a multiple of sharedExpertNum, ", layout.shared);
  check(layout.experts > 0 && layout.experts % (layout.ranks - layout.shared_ranks) == 0, "moeExpertNum is ",
        layout.experts, "; it must be a multiple of the ", layout.ranks - layout.shared_ranks,
        " ranks without a shared expert");
  check(layout.zeros >= 0 && layout.copies >= 0 && layout.constants >= 0,
        "zeroExpertNum, copyExpertNum and constExpertNum are ", layout.zeros, ", ", layout.copies, " and ",
        layout.constants, "; allowed: 0 or more");
}

at::Tensor active_choices(const OptionalTensor& mask, const at::Tensor& ids) {
  if (!given(mask)) return at::ones(ids.sizes(), at::kBool);
  const at::Tensor flags = mask->to(at::kBool);
  return (flags.dim() == 1 ? flags.unsqueeze(1).expand(ids.sizes()) : flags).contiguous();
}

void require_mask(const OptionalTensor& mask, const at::Tensor& ids) {
  require(!given(mask) || mask->sizes() == ids.sizes() || mask->sizes() == ids.sizes().slice(0, 1),
          ACLNN_ERR_PARAM_INVALID, "xActiveMaskOptional has the shape ", mask ? mask->sizes() : at::IntArrayRef(),
          "; allowed: ", ids.sizes(), ", ", ids.sizes().slice(0, 1));
}

Visits visits_of(const ExpertLayout& layout, const at::Tensor& ids, const at::Tensor& active) {
  Visits visits;
  for (int64_t rank = 0; rank < layout.ranks; ++rank) {
    visits.emplace_back(static_cast<size_t>(layout.local_experts(rank)));
  }
  const at::Tensor wide = ids.to(at::kLong).contiguous();
  const auto id = wide.accessor<int64_t, 2>();
  const auto is_active = active.accessor<bool, 2>();
  const int64_t local = layout.experts_on_rank(), choices = ids.size(1);
  for (int64_t token = 0; token < ids.size(0); ++token) {
    bool takes_part = false;
    for (int64_t choice = 0; choice < choices; ++choice) {
      if (!is_active[token][choice]) continue;
      takes_part = true;
      const int64_t expert = id[token][choice];
      require(expert >= 0 && expert < layout.everywhere(), ACLNN_ERR_PARAM_INVALID, "expertIds[", token, "][", choice,
              "] is ", expert, "; allowed: 0 to ", layout.everywhere() - 1);
      if (expert >= layout.experts) continue;
      visits[static_cast<size_t>(layout.shared_ranks + expert / local)][static_cast<size_t>(expert % local)].push_back(
          {token, choice});
    }
    if (!takes_part || layout.shared_ranks == 0) continue;
    const int64_t copies = layout.shared_ranks / layout.shared;
    for (int64_t shared = 0; shared < layout.shared; ++shared) {
      visits[static_cast<size_t>(shared * copies + layout.rank % copies)][0].push_back({token, choices + shared});
    }
  }
  return visits;
}

RowCounts row_counts(const Visits& visits) {
  RowCounts counts;
  for (const auto& experts : visits) {
    counts.emplace_back();
    for (const auto& of_expert : experts) counts.back().push_back(static_cast<int64_t>(of_expert.size()));
  }
  return counts;
}

}  // namespace opwright::opapi
