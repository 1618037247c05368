"""The plugin, declared: this is all of it. Importing the module completes the operators."""

import torch_npu  # noqa: F401 - has them

import opwright as ow

ops = ow.OperatorSet("npu", existing=True)


def convert(input, num_groups, weight, bias, eps=1e-5, swish_scale=1.0):
    from torchair.ge import attr, custom_op

    return custom_op(
        "GroupNormSwish",
        inputs={"x": input, "gamma": weight, "beta": bias},
        outputs=["y", "mean", "rstd"],
        attrs={
            "num_groups": attr.Int(num_groups),
            "eps": attr.Float(eps),
            "swish_scale": attr.Float(swish_scale),
        },
    )


def convert_grad(
    grad, input, num_groups, weight, bias, mean, rstd, grad_input_mask, swish_scale=1.0
):
    from torchair.ge import attr, custom_op

    inputs = {"dy": grad, "mean": mean, "rstd": rstd, "x": input, "gamma": weight, "beta": bias}
    return custom_op(
        "GroupNormSwishGrad",
        inputs=inputs,
        outputs=["dx", "dgamma", "dbeta"],
        attrs={"num_groups": attr.Int(num_groups), "swish_scale": attr.Float(swish_scale)},
    )


ops.declare(
    "npu_group_norm_swish(Tensor input, int num_groups, Tensor weight, Tensor bias, "
    "float? eps=1e-05, float? swish_scale=1.0) -> (Tensor y, Tensor mean, Tensor rstd)",
    converter=convert,
)
ops.declare(
    "npu_group_norm_swish_grad(Tensor grad, Tensor input, int num_groups, Tensor weight, "
    "Tensor bias, Tensor mean, Tensor rstd, bool[3] grad_input_mask, float? swish_scale=1.0) -> "
    "(Tensor grad_input, Tensor grad_weight, Tensor grad_bias)",
    shapes={
        "grad_input": ow.like("input"),
        "grad_weight": ow.like("weight"),
        "grad_bias": ow.like("bias"),
    },
    converter=convert_grad,
)

ops.load()
