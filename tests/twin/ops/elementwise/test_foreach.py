"""Foreach: native/opapi/ops/elementwise/foreach.cpp."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from tests.twin.aclnn_calls import AclnnError, Scalar, call
from tests.twin.ops.compare import agree, check, copied, run_on_npu
from tests.twin.ops.samples import some

if TYPE_CHECKING:
    from collections.abc import Callable

# Of the others torch_npu refuses some here and some there.
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int32)
FLOATING = DTYPES[:3]

UNARY = (
    *("abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1"),
    *("floor", "frac", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "sigmoid"),
    *("sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
)
WITH_LIST = ("add", "sub", "mul", "div", "pow", "maximum", "minimum", "clamp_max", "clamp_min")
WITH_SCALAR = ("add", "sub", "mul", "div", "pow", "maximum", "minimum", "clamp_max", "clamp_min")


def foreach(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(torch, f"_foreach_{name}")
    return function


def tensors(
    dtype: torch.dtype, count: int = 4, *, positive: bool = False, shift: int = 0
) -> list[torch.Tensor]:
    """Tensors of several shapes, one of them empty and one not contiguous."""
    shapes = [(3, 4), (5,), (0, 2), (), (2, 3, 2)] * ((count + 4) // 5)
    made = [some(shape, dtype) + shift for shape in shapes[:count]]
    made[0] = made[0].t().contiguous().t()
    return [t.abs() + 1 for t in made] if positive else made


def both(name: str, *arguments: object) -> None:
    """Compare the function and its in-place form, which writes into the first list."""
    check(foreach(name), *arguments)
    in_place = foreach(f"{name}_")
    lists = arguments[0]
    assert isinstance(lists, list)
    host, device = [copied(t, "cpu") for t in lists], [copied(t, "npu") for t in lists]
    in_place(host, *arguments[1:])
    run_on_npu(in_place, device, *arguments[1:])
    agree(device, host)


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, dtype: torch.dtype) -> None:
    positive = name.startswith(("log", "sqrt", "reciprocal"))
    small = name in {"acos", "asin"}
    made = tensors(dtype, positive=positive)
    both(name, [t / 8 for t in made] if small else made)


# Quotients and powers of integers have another dtype, or are an error.
LISTS_BY_DTYPE = [
    (name, dtype)
    for name in WITH_LIST
    for dtype in DTYPES
    if dtype.is_floating_point or name not in {"div", "pow"}
]


@pytest.mark.parametrize(("name", "dtype"), LISTS_BY_DTYPE)
def test_with_list(name: str, dtype: torch.dtype) -> None:
    positive = name == "pow"
    one, other = tensors(dtype, positive=positive), tensors(dtype, positive=True, shift=1)
    both(name, one, other)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", WITH_SCALAR)
def test_with_scalar(name: str, dtype: torch.dtype) -> None:
    positive = name == "pow"
    made = tensors(dtype, positive=positive)
    scalars: list[float] = [2, 3, 1, 2]
    if dtype.is_floating_point:
        both(name, made, 2.5)
        scalars = [1.5, 2.0, 3.0, 0.5]
    if name == "div" and not dtype.is_floating_point:
        check(foreach("div"), made, 2)
        return
    both(name, made, 2)
    both(name, made, scalars)


@pytest.mark.parametrize("dtype", DTYPES)
def test_alpha(dtype: torch.dtype) -> None:
    one, other = tensors(dtype), tensors(dtype, shift=2)
    for function in (foreach("add"), foreach("sub")):
        check(function, one, other, alpha=3)


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
def test_three_lists(name: str, dtype: torch.dtype) -> None:
    lists = tensors(dtype), tensors(dtype, shift=1), tensors(dtype, positive=True)
    both(name, *lists, 0.5)
    both(name, *lists, [0.5, 1.0, 2.0, 3.0])
    function = foreach(name)
    scalars = torch.tensor([0.5, 1.0, 2.0, 3.0])  # stays on the CPU, on either device
    on_npu = [[t.to("npu") for t in one] for one in lists]
    agree(function(*on_npu, scalars), function(*lists, scalars))


@pytest.mark.parametrize("dtype", FLOATING)
def test_lerp_norm_copy_zero(dtype: torch.dtype) -> None:
    one, other = tensors(dtype), tensors(dtype, shift=2)
    both("lerp", one, other, 0.3)
    both("lerp", one, other, tensors(dtype, positive=True))
    for order in (1, 2, float("inf")):
        with_values = [t for t in one if t.numel()]
        check(foreach("norm"), with_values, order)
    check(foreach("pow"), 2.0, one)
    host, device = [copied(t, "cpu") for t in one], [copied(t, "npu") for t in one]
    foreach("copy_")(device, [t.to("npu") for t in other])
    agree(device, other)
    foreach("zero_")(host)
    foreach("zero_")(device)
    agree(device, host)


@pytest.mark.parametrize("count", [1, 49, 130])
def test_long_lists(count: int) -> None:
    """torch_npu cuts lists into pieces; the last one is shorter."""
    one, other = tensors(torch.float32, count), tensors(torch.float32, count, shift=1)
    both("add", one, other)
    both("mul", one, 3.0)
    both("exp", one)
    both("addcmul", one, other, other, 0.5)


def test_different_lengths_are_refused() -> None:
    one = [torch.ones(2, device="npu") for _ in range(3)]
    with pytest.raises(RuntimeError, match="lists"):
        foreach("add")(one, one[:2])


def test_shapes_that_do_not_fit_are_refused() -> None:
    one, other = [torch.ones(2, device="npu")], [torch.ones(3, device="npu")]
    with pytest.raises(AclnnError, match=r"aclnnForeachMulList\w*: The size of tensor a"):
        call("aclnnForeachMulList", one, other, [torch.ones(2, device="npu")])


# The older forms, with the scalar as a tensor: torch_npu uses them where the V2 forms are missing.


def on_npu(*values: float) -> torch.Tensor:
    return torch.tensor(values, device="npu")


def outputs(like: list[torch.Tensor]) -> list[torch.Tensor]:
    return [torch.zeros_like(t) for t in like]


ONE, OTHER, THIRD = tensors(torch.float32), tensors(torch.float32, shift=6), tensors(torch.float32)


@pytest.mark.parametrize("name", WITH_SCALAR[:7])
def test_older_scalar_forms(name: str) -> None:
    x = [t.to("npu") for t in OTHER]
    out = outputs(x)
    call(f"aclnnForeach{name.capitalize()}Scalar", x, on_npu(2.5), out)
    agree(out, list(foreach(name)(OTHER, 2.5)))


def test_older_list_forms() -> None:
    one, other = [t.to("npu") for t in ONE], [t.to("npu") for t in OTHER]
    for name, function in (("Add", foreach("add")), ("Sub", foreach("sub"))):
        out = outputs(one)
        call(f"aclnnForeach{name}List", one, other, on_npu(3.0), out)
        agree(out, list(function(ONE, OTHER, alpha=3)))


@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
def test_older_forms_of_three_lists(name: str) -> None:
    one, other, third = ([t.to("npu") for t in values] for values in (ONE, THIRD, OTHER))
    out = outputs(one)
    call(f"aclnnForeach{name.capitalize()}Scalar", one, other, third, on_npu(0.5), out)
    agree(out, list(foreach(name)(ONE, THIRD, OTHER, 0.5)))


ROUNDINGS = {
    0: torch.round,
    1: torch.round,
    2: torch.floor,
    3: torch.ceil,
    5: torch.trunc,
    7: torch.frac,
}


@pytest.mark.parametrize("mode", [*ROUNDINGS, 4])
def test_round_off(mode: int) -> None:
    values = torch.tensor([-2.5, -1.7, -0.5, 0.0, 0.5, 1.5, 2.4])
    away = torch.tensor([-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 2.0])
    expected = away if mode == 4 else ROUNDINGS[mode](values)
    for arguments in ((Scalar(mode),), (on_npu(mode).to(torch.int8),)):
        name = "V2" if isinstance(arguments[0], Scalar) else ""
        out = [torch.zeros(7, device="npu")]
        call(f"aclnnForeachRoundOffNumber{name}", [values.to("npu")], *arguments, out)
        agree(out, [expected])
