// native/opapi/ops/common/group_rows.cpp
#include "opapi/ops/common/group_rows.h"

namespace opwright::opapi {

GroupList group_list(int64_t type, GroupList last) {
  const bool pairs = last == GroupList::kPairs;
  require(type >= 0 && type <= static_cast<int64_t>(last), ACLNN_ERR_PARAM_INVALID, "parameter 'groupListType' is ",
          type, "; allowed: 0 (ends), 1 (sizes)", pairs ? ", 2 (pairs of expert and size)" : "");
  return static_cast<GroupList>(type);
}

std::vector<RowGroup> row_groups(const at::Tensor& list, int64_t rows, GroupList kind, const char* name) {
  const bool pairs = kind == GroupList::kPairs;
  require(pairs ? list.dim() == 2 && list.size(1) == 2 : list.dim() <= 1, ACLNN_ERR_PARAM_INVALID, "parameter '", name,
          "' has shape ", list.sizes(), "; it must be ", pairs ? "[groups, 2]: experts and sizes" : "[groups]");
  const at::Tensor numbers = list.to(at::kLong).contiguous();
  const int64_t* const number = numbers.const_data_ptr<int64_t>();
  const int64_t count = pairs ? list.size(0) : list.numel();
  std::vector<RowGroup> groups;
  int64_t begin = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t expert = pairs ? number[2 * i] : i;
    const int64_t stated = pairs ? number[2 * i + 1] : kind == GroupList::kSizes ? number[i] : number[i] - begin;
    // Ends say nothing once all rows have a group.
    const bool is_behind = kind == GroupList::kEnds && begin == rows && number[i] >= 0;
    const int64_t size = is_behind && stated < 0 ? 0 : stated;
    require(size >= 0 && size <= rows - begin && expert >= 0, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "': group ",
            i, " is of expert ", expert, ", begins at row ", begin, " and has ", size, " rows, but there are ", rows);
    groups.push_back({begin, begin + size, expert});
    begin += size;
  }
  return groups;
}

void store_row_groups(const at::Tensor& x, const std::vector<RowGroup>& groups, const LowFormat& format,
                      const MxRule& rule, at::Tensor& values, at::Tensor& codes) {
  for (const RowGroup& group : groups) {
    if (group.rows() == 0) continue;
    const MxQuantized result = mx_quantized(x.slice(0, group.begin, group.end), 0, format, rule);
    const at::Tensor pairs = paired(result.scales, 0);
    const int64_t first = group.begin / (2 * rule.block) + group.expert;
    require(first + pairs.size(0) <= codes.size(0), ACLNN_ERR_PARAM_INVALID, "the scales have ", codes.size(0),
            " rows; group ", group.expert, " needs rows ", first, " to ", first + pairs.size(0));
    values.slice(0, group.begin, group.end).copy_(result.values);
    codes.slice(0, first, first + pairs.size(0)).copy_(pairs);
  }
}

}  // namespace opwright::opapi
