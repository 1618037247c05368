// operations/channels.cpp: normalization of channels within each sample; sums of products by Einstein's notation.
#include <ATen/ops/einsum.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/instance_norm.h>

#include "operations/optional.h"
#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

/// The running statistics of the module stay as they are: an engine only reads them.
Tensor instance_norm(const Call& c) {
  const bool own_statistics = c.integer("use_input_stats") != 0;
  const auto statistic = [&](const char* name) { return own_statistics ? std::nullopt : optional_input(c, name); };
  return at::instance_norm(c[0], optional_input(c, "weight"), optional_input(c, "bias"), statistic("running_mean"),
                           statistic("running_var"), own_statistics, c.real("momentum"), c.real("eps"),
                           /*cudnn_enabled=*/false);
}

const Operation kOperations[] = {
    {"Einsum", 1, [](const Call& c) -> Tensors { return {at::einsum(c.text("equation"), c.operands())}; },
     Precision::kFull},
    {"GroupNorm", 1,
     [](const Call& c) -> Tensors {
       return {at::group_norm(c[0], c.integer("num_groups"), optional_input(c, "weight"), optional_input(c, "bias"),
                              c.real("eps"))};
     },
     Precision::kFull},
    {"InstanceNorm", 1, [](const Call& c) -> Tensors { return {instance_norm(c)}; }, Precision::kFull},
};

}  // namespace

Table channels() { return kOperations; }

}  // namespace AscendIE
