// native/opapi/ops/group_rows.cpp
#include "opapi/ops/group_rows.h"

namespace opwright::opapi {

std::vector<RowGroup> row_groups(const at::Tensor& list, int64_t rows, GroupList kind) {
  const at::Tensor numbers = list.to(at::kLong).flatten().contiguous();
  const int64_t* const number = numbers.const_data_ptr<int64_t>();
  std::vector<RowGroup> groups;
  int64_t begin = 0;
  for (int64_t i = 0; i < numbers.numel(); ++i) {
    const int64_t end = kind == GroupList::kEnds ? number[i] : begin + number[i];
    require(end >= begin && end <= rows, ACLNN_ERR_PARAM_INVALID, "group ", i, " ends at row ", end,
            "; it begins at row ", begin, ", and there are ", rows, " rows");
    groups.push_back({begin, end});
    begin = end;
  }
  return groups;
}

void store_row_groups(const at::Tensor& x, const std::vector<RowGroup>& groups, const LowFormat& format,
                      const MxRule& rule, at::Tensor& values, at::Tensor& codes) {
  int64_t index = -1;
  for (const RowGroup& group : groups) {
    ++index;
    if (group.rows() == 0) continue;
    const MxQuantized result = mx_quantized(x.slice(0, group.begin, group.end), 0, format, rule);
    const at::Tensor pairs = paired(result.scales, 0);
    const int64_t first = group.begin / (2 * rule.block) + index;
    require(first + pairs.size(0) <= codes.size(0), ACLNN_ERR_PARAM_INVALID, "the scales have ", codes.size(0),
            " rows; group ", index, " needs rows ", first, " to ", first + pairs.size(0));
    values.slice(0, group.begin, group.end).copy_(result.values);
    codes.slice(0, first, first + pairs.size(0)).copy_(pairs);
  }
}

}  // namespace opwright::opapi
