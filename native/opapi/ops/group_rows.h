// native/opapi/ops/group_rows.h
// Groups of neighbouring rows, as a list of the rows at which they end or of their sizes.
#pragma once

#include <vector>

#include "opapi/ops/microscaling.h"

namespace opwright::opapi {

enum class GroupList { kEnds, kSizes };

struct RowGroup {
  int64_t begin, end;
  int64_t rows() const { return end - begin; }
};

// One entry for each of the list; throws 161002 for groups that go backwards or beyond the `rows` there are.
OPWRIGHT_API std::vector<RowGroup> row_groups(const at::Tensor& list, int64_t rows, GroupList kind);

// Quantizes each group of rows along dimension 0. In `codes`, of the form of the output, the scales of a group begin at
// the number of whole pairs of blocks before it plus the number of groups before it, so that each group has an even
// number.
OPWRIGHT_API void store_row_groups(const at::Tensor& x, const std::vector<RowGroup>& groups, const LowFormat& format,
                                   const MxRule& rule, at::Tensor& values, at::Tensor& codes);

}  // namespace opwright::opapi
