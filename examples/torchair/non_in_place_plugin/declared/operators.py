"""The plugin, declared: this is all of it. Importing the module completes the operator."""

import torch_npu  # noqa: F401 - has the operator

import opwright as ow

ops = ow.OperatorSet("npu", existing=True)

ops.declare(
    "npu_group_norm_swish_grad(Tensor grad, Tensor input, int num_groups, Tensor weight, "
    "Tensor bias, Tensor mean, Tensor rstd, bool[3] grad_input_mask, float? swish_scale=1.0) -> "
    "(Tensor grad_input, Tensor grad_weight, Tensor grad_bias)",
    shapes={
        "grad_input": ow.like("input"),
        "grad_weight": ow.like("weight"),
        "grad_bias": ow.like("bias"),
    },
)

ops.load()
