// native/opapi/ops/communication/expert_ranks.h
// Experts that live on the ranks of a communicator, and the order of the rows that travel to them: a rank sends its
// rows by rank, then by the rank's expert, then as its tokens are; an expert's rank keeps them by expert, then by the
// rank that they come from.
#pragma once

#include <vector>

#include "opapi/ops/communication/ranks.h"

namespace opwright::opapi {

// Rows to or from each rank, for each expert of one rank: [ranks][experts of the receiver].
using RowCounts = std::vector<std::vector<int64_t>>;

std::vector<int64_t> rows_by_rank(const RowCounts& counts);
std::vector<int64_t> rows_by_expert(const RowCounts& counts);

// Indices that bring rows from the order of their ranks to that of their experts.
at::Tensor order_by_expert(const RowCounts& received);

}  // namespace opwright::opapi
