"""Step 4: Meta of an operator that torch_npu has in eager only."""

import torch
import torch_npu  # noqa: F401 - registers the operator
from torch.library import Library, impl

m = Library("npu", "IMPL", "Meta")


@impl(m, "npu_group_norm_swish_grad")
def npu_group_norm_swish_grad_meta(
    grad, input, num_groups, weight, bias, mean, rstd, grad_input_mask, swish_scale=1.0
):
    return torch.empty_like(input), torch.empty_like(weight), torch.empty_like(bias)
