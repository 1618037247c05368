"""Element-wise mathematics: native/opapi/ops/elementwise/unary.cpp."""

from __future__ import annotations

import pytest
import torch

from tests.twin.ops.compare import (
    FLOATS,
    INTEGERS,
    check,
    check_in_place,
    check_out,
    copied,
    layouts,
    rejects,
)

# name: the interval of the arguments
FUNCTIONS = {
    **dict.fromkeys(("abs", "neg", "sign", "ceil", "floor", "round", "trunc", "frac"), (-3, 3)),
    **dict.fromkeys(("reciprocal", "sqrt", "rsqrt", "log", "log10", "log1p", "log2"), (0.1, 4)),
    **dict.fromkeys(("exp", "exp2", "expm1", "sin", "cos", "tan", "sinh", "cosh"), (-1.5, 1.5)),
    **dict.fromkeys(("tanh", "asinh", "atan", "sinc", "erf", "erfc", "sigmoid"), (-3, 3)),
    **dict.fromkeys(("asin", "acos", "atanh", "erfinv"), (-0.9, 0.9)),
    "acosh": (1.1, 4),
}
KEEP_INTEGERS = ("abs", "neg", "sign", "ceil", "floor", "round", "trunc")
# Of these torch_npu gives integers' results in float32.
TAKE_INTEGERS = ("sqrt", "rsqrt", "log", "log2", "sin", "cos", "tan", "atan", "tanh", "sigmoid")


def within(low: float, high: float, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    uniform = torch.rand(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return (low + (high - low) * uniform).to(dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str, dtype: torch.dtype) -> None:
    low, high = FUNCTIONS[name]
    for tensor in layouts(lambda shape: within(low, high, shape, dtype)):
        check(getattr(torch, name), tensor)
        check_out(getattr(torch, name), tensor)
        check_in_place(getattr(torch.Tensor, f"{name}_"), tensor)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("name", [*KEEP_INTEGERS, *TAKE_INTEGERS])
def test_integers(name: str, dtype: torch.dtype) -> None:
    check(getattr(torch, name), torch.arange(1, 7).reshape(2, 3).t().to(dtype))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
@pytest.mark.parametrize(
    "name", ["abs", "neg", "sgn", "reciprocal", "exp", "log", "sin", "cos", "tanh", "sqrt", "angle"]
)
def test_complex(name: str, dtype: torch.dtype) -> None:
    tensor = torch.randn(3, 4, dtype=dtype, generator=torch.Generator().manual_seed(1))
    check(getattr(torch, name), tensor)
    check(getattr(torch, name), tensor.t())


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_special_values(dtype: torch.dtype) -> None:
    a = torch.tensor([0.0, -0.0, 2.5, -2.5, float("inf"), float("-inf"), float("nan")], dtype=dtype)
    for op in (torch.signbit, torch.sign, torch.round, torch.angle, torch.nan_to_num):
        check(op, a)
    check(torch.nan_to_num, a, nan=1.0, posinf=2.0, neginf=-2.0)
    check_in_place(torch.Tensor.nan_to_num_, a, nan=1.0, posinf=2.0, neginf=-2.0)
    check_out(torch.nan_to_num, a)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("decimals", [-1, 0, 2])
def test_round_to_decimals(decimals: int, dtype: torch.dtype) -> None:
    a = within(-30, 30, (3, 4), dtype)
    check(torch.round, a, decimals=decimals)
    check_out(torch.round, a, decimals=decimals)
    check_in_place(torch.Tensor.round_, a.t(), decimals=decimals)


def test_round_integers_to_decimals() -> None:
    a = torch.tensor([14, 15, -26], dtype=torch.int32).to("npu")
    assert torch.round(a, decimals=2).tolist() == [14, 15, -26]
    assert torch.round(a, decimals=-1).tolist() == [10, 20, -30]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("eps", [None, 0.2])
def test_logit(eps: float | None, dtype: torch.dtype) -> None:
    a = within(0.05, 0.95, (3, 4), dtype)
    check(torch.logit, a, eps)
    check(torch.ops.aten.logit_backward, a + 1, a, eps)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_clamp(dtype: torch.dtype) -> None:
    for tensor in layouts(lambda shape: within(0, 9, shape, dtype)):
        for bounds in ({"min": 2, "max": 5}, {"min": 2}, {"max": 5}):
            check(torch.clamp, tensor, **bounds)
            check_out(torch.clamp, tensor, **bounds)
            check_in_place(torch.Tensor.clamp_, tensor, **bounds)
            tensors = {name: torch.full((), value, dtype=dtype) for name, value in bounds.items()}
            check(torch.clamp, tensor, **tensors)
            check_in_place(torch.Tensor.clamp_, tensor, **tensors)
        for name in ("clamp_min", "clamp_max"):
            for bound in (3, torch.full((), 3, dtype=dtype)):
                check(getattr(torch, name), tensor, bound)
                check_in_place(getattr(torch.Tensor, f"{name}_"), tensor, bound)
    check(torch.clamp, within(0, 9, (3, 4), dtype), min=1.5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16], ids=str)
@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_complex_from_parts(dtype: torch.dtype) -> None:
    a, b = within(0, 1, (3, 4), dtype), within(-1, 1, (4,), dtype)
    check(torch.complex, a, b)
    if dtype != torch.float16:  # the CPU has no polar of halves
        check(torch.polar, a, b)
        check_out(torch.polar, a, b)


def test_signbit_into_bytes() -> None:
    out = torch.empty(2, dtype=torch.uint8).to("npu")
    torch.signbit(copied(torch.tensor([-1.0, 1.0]), "npu"), out=out)
    assert out.tolist() == [1, 0]


def test_unary_refuses_wrong_calls() -> None:
    rejects("aclnnNeg", torch.neg, torch.tensor([True]))
    rejects("aclnnFloor", torch.floor, torch.ones(2, dtype=torch.complex64))
    rejects(
        "aclnnClampTensor", torch.clamp, torch.ones(2), min=torch.ones(2, dtype=torch.complex64)
    )
