"""Step 6: the converters. TorchAir has none of the forward operator either."""

import torch
import torch_npu  # noqa: F401 - registers the operators
from torchair import register_fx_node_ge_converter
from torchair.ge import attr, custom_op


@register_fx_node_ge_converter(torch.ops.npu.npu_group_norm_swish.default)
def convert_npu_group_norm_swish(input, num_groups, weight, bias, eps=1e-5, swish_scale=1.0):
    return custom_op(
        "GroupNormSwish",
        inputs={"x": input, "gamma": weight, "beta": bias},
        outputs=["y", "mean", "rstd"],
        attrs={
            "num_groups": attr.Int(num_groups),
            "eps": attr.Float(1e-5 if eps is None else eps),
            "swish_scale": attr.Float(1.0 if swish_scale is None else swish_scale),
        },
    )


@register_fx_node_ge_converter(torch.ops.npu.npu_group_norm_swish_grad.default)
def convert_npu_group_norm_swish_grad(
    grad, input, num_groups, weight, bias, mean, rstd, grad_input_mask, swish_scale=1.0
):
    inputs = {"dy": grad, "mean": mean, "rstd": rstd, "x": input, "gamma": weight, "beta": bias}
    return custom_op(
        "GroupNormSwishGrad",
        inputs=inputs,
        outputs=["dx", "dgamma", "dbeta"],
        attrs={
            "num_groups": attr.Int(num_groups),
            "swish_scale": attr.Float(1.0 if swish_scale is None else swish_scale),
            "dgamma_is_require": attr.Bool(grad_input_mask[1]),
            "dbeta_is_require": attr.Bool(grad_input_mask[2]),
        },
    )
