// converters/channels.cpp: normalization of channels within each sample; sums of products by Einstein's notation.
#include "converters/by_schema.h"

namespace torch_aie::core::conversion::converters {

namespace {

constexpr SchemaRow kRows[] = {
    {"aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor", "Einsum"},
    {"aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
     "bool cudnn_enabled=True) -> Tensor",
     "GroupNorm"},
    {"aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
     "bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
     "InstanceNorm"},
};

RegisterNodeConverters rows() {
  RegisterNodeConverters all;
  for (const SchemaRow& row : kRows) all += row;
  return all;
}

const auto g_rows = rows();

}  // namespace

}  // namespace torch_aie::core::conversion::converters
