// native/opapi/ops/common/group_rows.h
// Groups of neighbouring rows, as a list of the rows at which they end, of their sizes, or of experts and sizes.
#pragma once

#include <vector>

#include "opapi/ops/common/microscaling.h"

namespace opwright::opapi {

enum class GroupList : int64_t { kEnds = 0, kSizes = 1, kPairs = 2 };

struct RowGroup {
  int64_t begin, end;
  int64_t expert = 0;  // whose parameters are meant: the place in the list, or what a list of pairs says
  int64_t rows() const { return end - begin; }
};

// The parameter 'groupListType', which must be at most `last`.
OPWRIGHT_API GroupList group_list(int64_t type, GroupList last);

// One entry for each of the list; throws 161002 for groups that go backwards or beyond the `rows` there are, and for
// experts below 0. `name` is the parameter's.
OPWRIGHT_API std::vector<RowGroup> row_groups(const at::Tensor& list, int64_t rows, GroupList kind,
                                              const char* name = "groupIndex");

// Quantizes each group of rows along dimension 0. In `codes`, of the form of the output, the scales of a group begin at
// the number of whole pairs of blocks before it plus the number of groups before it, so that each group has an even
// number.
OPWRIGHT_API void store_row_groups(const at::Tensor& x, const std::vector<RowGroup>& groups, const LowFormat& format,
                                   const MxRule& rule, at::Tensor& values, at::Tensor& codes);

}  // namespace opwright::opapi
