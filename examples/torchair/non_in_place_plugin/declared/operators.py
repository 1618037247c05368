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
            "eps": attr.Float(1e-5 if eps is None else eps),
            "swish_scale": attr.Float(1.0 if swish_scale is None else swish_scale),
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
        attrs={
            "num_groups": attr.Int(num_groups),
            "swish_scale": attr.Float(1.0 if swish_scale is None else swish_scale),
            "dgamma_is_require": attr.Bool(grad_input_mask[1]),
            "dbeta_is_require": attr.Bool(grad_input_mask[2]),
        },
    )


ops.declare(
    "npu_group_norm_swish(Tensor input, int num_groups, Tensor weight, Tensor bias, "
    "float? eps=1e-05, float? swish_scale=1.0) -> (Tensor y, Tensor mean, Tensor rstd)",
    shapes={
        "input": "N, C, *S",
        "weight": "C",
        "bias": "C",
        **dict.fromkeys(("mean", "rstd"), "N, num_groups"),
    },
    dtypes="float32 float16",
    requires=["num_groups > 0", "C % num_groups == 0"],
    converter=convert,
)
ops.declare(
    "npu_group_norm_swish_grad(Tensor grad, Tensor input, int num_groups, Tensor weight, "
    "Tensor bias, Tensor mean, Tensor rstd, bool[3] grad_input_mask, float? swish_scale=1.0) -> "
    "(Tensor grad_input, Tensor grad_weight, Tensor grad_bias)",
    shapes={
        "grad": "N, C, *S",
        "input": "N, C, *S",
        "weight": "C",
        "bias": "C",
        **dict.fromkeys(("mean", "rstd"), "N, num_groups"),
        "grad_input": ow.like("input"),
        "grad_weight": ow.like("weight"),
        "grad_bias": ow.like("bias"),
    },
    dtypes="float32 float16",
    requires=["num_groups > 0", "C % num_groups == 0"],
    unspecified={
        "grad_weight": "not grad_input_mask[1]",
        "grad_bias": "not grad_input_mask[2]",
    },
    converter=convert_grad,
)

ops.load()
