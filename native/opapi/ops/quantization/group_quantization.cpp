// native/opapi/ops/quantization/group_quantization.cpp
// Quantization of groups of rows, each with scales of its own along the columns.
#include "opapi/ops/common/group_rows.h"

namespace {

void group_quant(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& ends, const OptionalTensor& offset,
                 Coded& y) {
  require(x.dim() == 2 && scale.dim() == 2 && scale.size(1) == x.size(1) && ends.dim() == 1 &&
              ends.size(0) == scale.size(0),
          ACLNN_ERR_PARAM_INVALID, "parameters 'scale' and 'groupIndex' have shapes ", scale.sizes(), " and ",
          ends.sizes(), "; they must be [groups, ", x.size(-1), "] and [groups]");
  at::Tensor values = x.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  int64_t covered = 0;
  for (const RowGroup& group : row_groups(ends, x.size(0), GroupList::kEnds)) {
    values.slice(0, group.begin, group.end).mul_(scale.select(0, group.expert));
    covered = group.end;
  }
  require(covered == x.size(0), ACLNN_ERR_PARAM_INVALID, "parameter 'groupIndex' ends at row ", covered,
          "; it must end at the last of ", x.size(0));
  if (given(offset)) values.add_(offset->to(at::kFloat));
  store(y, values);
}

}  // namespace

ACLNN(GroupQuant, (In, x)(In, scale)(Index, groupIndex)(OptIn, offsetOptional)(Int32, dstType)(CodedOut, y),
      group_quant(x, scale, groupIndex, offsetOptional, typed(y, dstType)))
