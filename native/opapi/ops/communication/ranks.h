// native/opapi/ops/communication/ranks.h
// Tensors that the ranks of a communicator exchange inside of an operator. Whatever follows from shapes and dtypes has
// to be refused before the first exchange, where phase 1 finds it: what a rank throws later ends the communicator.
#pragma once

#include "collective/rank_group.h"
#include "opapi/opapi.h"

namespace opwright::opapi {

using collective::RankGroup;

// The rows of all ranks, in their order: [m, ...] -> [ranks * m, ...].
at::Tensor gather_rows(const RankGroup& ranks, const at::Tensor& rows);
// Rows that go to each rank and come from each; `rows` are in the order of the ranks that they go to.
at::Tensor exchange_rows(const RankGroup& ranks, const at::Tensor& rows, at::IntArrayRef sent,
                         at::IntArrayRef received);
// Element by element; halves are added in float32 and rounded once.
at::Tensor sum_over_ranks(const RankGroup& ranks, const at::Tensor& values);
// The same for this rank's share of the rows: [ranks * m, ...] -> [m, ...].
at::Tensor sum_share_of_rows(const RankGroup& ranks, const at::Tensor& values);

// The communicator that an operator's parameter names.
RankGroup find_ranks(const std::string& group);

// Runs the body of an operator.
template <class Body>
void communicate(const std::string& group, Body body) {
  const RankGroup ranks = find_ranks(group);
  if (is_dry_run()) return body(ranks);
  ranks.run([&] { body(ranks); });
}

// Returns when all ranks have come here.
void wait_for_all(const RankGroup& ranks);

// Refuses a tensor of another shape. One that is not given has none.
void require_shape(const at::Tensor& tensor, at::IntArrayRef sizes, const char* name);

// Parameters that every operator of this kind has, and that CANN allows one value of.
void require_options(const std::string& reduce_op, int64_t comm_turn, int64_t stream_mode);

}  // namespace opwright::opapi
