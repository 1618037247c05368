# ruff: noqa: ANN001, ANN201, ANN202, TC002
# mypy: ignore-errors
"""Operators that together use everything that the Python emitters can express."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

import opwright as ow
from opwright.kit.declare import Deprecation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.kit.declare.sample import Sample

ops = ow.OperatorSet("kit", version="1.2")

# Of the normalisations; a constant that references use.
FLOOR = 1e-12
TABLE = {"none": 0.0}
TABLE["one"] = math.cos(0.0)

SMALL = ow.tensor(2, 3)


def samples_of(*names: str) -> list[Sample]:
    """Return a sample (only the declaration uses this)."""
    return [ow.sample(**dict.fromkeys(names, SMALL))]


def row_mean(x: torch.Tensor) -> torch.Tensor:
    """Return the mean of each row."""
    return x.float().mean(-1, keepdim=True) + FLOOR  # never zero


@ops.operator(
    "scale(Tensor x, float factor=1.0) -> Tensor",
    aclnn="aclnnKitScale(x, float factor, out)",
    dtypes="float32 float16 bfloat16",
    backward="scale(grad, factor)",
    autocast="float16",
    vmap="batch first",
    samples=[ow.sample(x=SMALL, factor=2.5), ow.sample(x=ow.tensor(0, 4))],
    errors=[ow.error("dtype", x=ow.tensor(2, dtype="int32"))],
    tolerances={"float16": (1e-3, 1e-3)},
)
def scale(x, factor=1.0):
    """Multiply by a factor.

    Every element is multiplied by the same number.

    Parameters
    ----------
    x : Tensor
        The values.
    factor : float
        The number.

    Examples
    --------
    >>> torch.ops.kit.scale(torch.ones(2), 3.0)
    tensor([3., 3.])
    """
    return x * factor


@ops.operator(
    "scale.out(Tensor x, float factor, *, Tensor(a!) out) -> Tensor(a!)",
    aclnn="aclnnKitScale(x, float factor, out)",
    prototype=False,
    shapes={"x": "*S", "out": "*S"},
    dtypes={"x": "float32 float16", "out": "x"},
    samples=[ow.sample(x=SMALL, factor=2.0, out=SMALL)],
)
def scale_out(x, factor, *, out):
    """Multiply by a factor, into a tensor."""
    return out.copy_(x * factor)


@ops.operator(
    "ema_(Tensor(a!) average, Tensor value, *, float decay=0.99) -> Tensor(a!)",
    aclnn="aclnnKitEma(average, value, float decay)",
    shapes={"average": "*S", "value": "*S"},
    dtypes="float32 float16",
    backward={"average": "grad * decay", "value": "scale(grad, 1 - decay)"},
    samples=[*samples_of("average", "value")],
    errors=[ow.error("value", average=SMALL, value=ow.tensor(2, 4))],
)
def ema_(average, value, *, decay=0.99):
    """Move a running average towards a value."""
    return average.mul_(decay).add_(value, alpha=1 - decay)


@ops.operator(
    "center(Tensor x, Tensor? weight=None, *, Tensor shift, bool keep=True)"
    " -> (Tensor y, Tensor mean)",
    aclnn="aclnnKitCenter(x, weight, shift, keep, y, mean)",
    shapes={"x": "*batch, D", "weight": "D", "shift": "D", "y": ow.like("x"), "mean": "*batch, 1"},
    dtypes={"x": "float32 float16", "weight": "x", "shift": "x", "mean": "float32"},
    backward="reference",
    vmap="batch first",
    samples=[
        ow.sample(x=ow.tensor(2, 4), shift=ow.tensor(4)),
        ow.sample(x=ow.tensor(3, 2, 4), weight=ow.tensor(4), shift=ow.tensor(4), keep=False),
    ],
    tolerances={"float16": (1e-2, 1e-2)},
)
def center(x, weight=None, *, shift, keep=True):
    mean = row_mean(x)
    y = x.float() - mean if keep else x.float()
    y = (y if weight is None else y * weight) + shift
    return y.to(x.dtype), mean


@ops.operator(
    "power(Tensor x, Scalar exponent=2, *, ScalarType? dtype=None) -> Tensor",
    aclnn="aclnnKitPower(x, exponent, out)",
    dtypes={"x": "float32 float64", "out": "dtype or x"},
    samples=[
        ow.sample(x=ow.tensor(4, low=0.5, high=2.0)),
        ow.sample(x=ow.tensor(4, low=0.5, high=2.0), exponent=0.5, dtype="float32"),
    ],
    deterministic=False,
    tags=["pointwise", "nondeterministic_bitwise"],
)
def power(x, exponent=2, *, dtype=None):
    """Raise to a power."""
    return (x**exponent).to(dtype or x.dtype)


@power.backward(saves=["x", "exponent"])
def _(grad, x, exponent):
    return grad * exponent * x ** (exponent - 1)


@power.vmap
def _(info, in_dims, x, exponent=2, *, dtype=None):
    assert info.batch_size > 0
    return power(x, exponent, dtype=dtype), in_dims[0]


@ops.operator(
    "total(Tensor[] parts, int[2] window=1, str mode='none') -> Tensor",
    aclnn="aclnnKitTotal(parts, window, mode, out)",
    shapes={"out": "window[0], window[1]"},
    dtypes={"parts": "float32", "out": "float32"},
    samples=[
        ow.sample(parts=[SMALL, ow.tensor(4)], window=[2, 3]),
        ow.sample(parts=[SMALL], mode="one"),
    ],
)
def total(parts: Sequence[torch.Tensor], window=(1, 1), mode="none"):
    """Fill a window with the sum of all parts."""
    value = sum(part.sum() for part in parts) + TABLE[mode]
    return value.expand(*window).clone()


@ops.operator(
    "twice(Tensor x) -> Tensor",
    aclnn=False,
    prototype=False,
    dtypes="float32",
    samples=samples_of("x"),
)
def twice(x):
    """Multiply by two; made of another operator."""
    return scale(scale.reference(x, 1.0), 2.0)


@ops.operator(
    "old_scale(Tensor x, float factor) -> Tensor",
    aclnn="aclnnKitScale(x, float factor, out)",
    dtypes="float32",
    deprecated=Deprecation(since="1.1", use="scale"),
    samples=[ow.sample(x=SMALL, factor=2.0)],
)
def old_scale(x, factor):
    """Multiply by a factor."""
    return x * factor


@old_scale.converter
def _(x, factor):
    from torchair.ge import attr, custom_op  # noqa: PLC0415 - the declaration does not need it

    factor = attr.Float(factor)
    return custom_op("KitScale", inputs={"x": x}, outputs=["out"], attrs={"factor": factor})


@ops.operator(
    "clear_(Tensor(a!) cache, Tensor slots) -> ()",
    aclnn="aclnnKitClear(cache, slots)",
    dtypes={"cache": "float32", "slots": "int64"},
    samples=[ow.sample(cache=ow.tensor(4, 2), slots=ow.tensor(2, dtype="int64", high=4))],
)
def clear_(cache, slots):
    """Fill rows with zeros."""
    cache.index_fill_(0, slots, 0)


if __name__ == "__main__":
    ops.load()
