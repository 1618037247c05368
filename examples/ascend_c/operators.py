"""The operators of this project for PyTorch: schema, shapes, and what each computes.

The names in `aclnn` are those of the OpDef: they are also the names of a node in a graph.
"""

import torch

import opwright as ow

ops = ow.OperatorSet("ascend_c_ops", version="1.0.0")


@ops.operator(
    "add_custom(Tensor x, Tensor y) -> Tensor z",
    aclnn="aclnnAddCustom(x, y, z)",
    shapes={"x": "*S", "y": "*S", "z": ow.like("x")},
    dtypes={"x": "float16 float32 int32", "y": "x", "z": "x"},
)
def add_custom(x, y):
    """Return x + y."""
    return x + y


@ops.operator(
    "axpy_(Tensor(a!) y, Tensor x, *, float alpha=1.0) -> Tensor(a!)",
    aclnn="aclnnInplaceAxpy(y, x, alpha)",
    shapes={"y": "*S", "x": "*S"},
    dtypes={"y": "float16 float32", "x": "y"},
)
def axpy_(y, x, *, alpha=1.0):
    """Add alpha * x to y."""
    return y.add_(x, alpha=alpha)


@ops.operator(
    "rms_norm(Tensor x, Tensor gamma, *, float eps=1e-6) -> (Tensor y, Tensor rstd)",
    aclnn="aclnnRmsNormCustom(x, gamma, eps, y, rstd)",
    shapes={"x": "*batch, D", "gamma": "D", "y": ow.like("x"), "rstd": "*batch, 1"},
    dtypes={"x": "float16 float32", "gamma": "x", "rstd": "float32"},
)
def rms_norm(x, gamma, *, eps=1e-6):
    """Return x over its root mean square, times gamma; and the reciprocal of the root."""
    rstd = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + eps)
    return (x.float() * rstd * gamma.float()).to(x.dtype), rstd


@ops.operator(
    "matmul(Tensor a, Tensor b, Tensor bias) -> Tensor c",
    aclnn="aclnnMatmulCustom(a, b, bias, c)",
    shapes={"a": "M, K", "b": "K, N", "bias": "N", "c": "M, N"},
    dtypes={"a": "float16", "b": "a", "bias": "float32", "c": "float32"},
)
def matmul(a, b, bias):
    """Return a @ b + bias in float32."""
    return a.float() @ b.float() + bias
