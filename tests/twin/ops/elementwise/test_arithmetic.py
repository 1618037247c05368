"""Sums, differences, products, quotients, powers: native/opapi/ops/elementwise/arithmetic.cpp."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

BINARY = {
    "add": FLOATS + INTEGERS,
    "sub": FLOATS + INTEGERS,
    "mul": FLOATS + INTEGERS,
    "div": FLOATS,
    "floor_divide": FLOATS + INTEGERS,
    "fmod": FLOATS + INTEGERS,
    "remainder": FLOATS + INTEGERS,
    "pow": FLOATS,
    "atan2": FLOATS,
    "maximum": FLOATS + INTEGERS,
    "minimum": FLOATS + INTEGERS,
    "logaddexp": (torch.float32, torch.float64),
    "logaddexp2": (torch.float32, torch.float64),
    "xlogy": FLOATS,
    "gcd": INTEGERS,
    "bitwise_left_shift": INTEGERS,
    "bitwise_right_shift": INTEGERS,
}
IN_PLACE = (
    "add",
    "sub",
    "mul",
    "div",
    "floor_divide",
    "fmod",
    "remainder",
    "pow",
    "atan2",
    "xlogy",
)
WITH_NUMBER = (
    *("add", "sub", "mul", "div", "floor_divide", "fmod", "remainder", "pow"),
    *("bitwise_left_shift", "bitwise_right_shift"),
)


def chosen(names: Iterable[str]) -> list[tuple[str, torch.dtype]]:
    return [(name, dtype) for name in names for dtype in BINARY[name]]


def some(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """From 1 on, so that all quotients, logarithms and powers are defined."""
    return torch.randint(1, 7, shape, generator=torch.Generator().manual_seed(1)).to(dtype)


@pytest.mark.parametrize(("name", "dtype"), chosen(BINARY), ids=str)
def test_two_tensors(name: str, dtype: torch.dtype) -> None:
    op = getattr(torch, name)
    for tensor in layouts(lambda shape: some(shape, dtype)):
        check(op, tensor, tensor.flip(0) if tensor.dim() else tensor)
        check_out(op, tensor, tensor)
    check(op, some((3, 1, 4), dtype), some((2, 1), dtype))
    check(op, some((), dtype), some((2, 3), dtype))


@pytest.mark.parametrize(("name", "dtype"), chosen(IN_PLACE), ids=str)
def test_in_place(name: str, dtype: torch.dtype) -> None:
    op = getattr(torch.Tensor, f"{name}_")
    for tensor in layouts(lambda shape: some(shape, dtype)):
        check_in_place(op, tensor, some(tuple(tensor.shape[-1:]), dtype))


@pytest.mark.parametrize(("name", "dtype"), chosen(WITH_NUMBER), ids=str)
def test_tensor_and_number(name: str, dtype: torch.dtype) -> None:
    op = getattr(torch, name)
    for tensor in layouts(lambda shape: some(shape, dtype)):
        check(op, tensor, 3)
        check_in_place(getattr(torch.Tensor, f"{name}_"), tensor, 3)
    if dtype.is_floating_point:
        check(op, some((3, 4), dtype), 2.5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize(
    "op",
    [
        *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv),
        *(operator.mod, operator.pow),
    ],
)
def test_number_and_tensor(op: Callable[..., object], dtype: torch.dtype) -> None:
    for number in (5, 2.5):
        check(lambda tensor, number=number: op(number, tensor), some((3, 4), dtype))
        check(lambda tensor, number=number: op(tensor, number), some((3, 4), dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64], ids=str)
def test_number_in_a_cpu_tensor(dtype: torch.dtype) -> None:
    host = some((3, 4), dtype)
    device = copied(host, "npu")
    for op in (torch.add, torch.sub, torch.mul, torch.div, torch.remainder, torch.pow):
        number = torch.tensor(2, dtype=dtype)
        torch.testing.assert_close(op(device, number).cpu(), op(host, number))
    torch.testing.assert_close(
        torch.add(torch.tensor(3, dtype=dtype), device, alpha=2).cpu(),
        torch.add(torch.tensor(3, dtype=dtype), host, alpha=2),
    )


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int32, torch.int64], ids=str)
def test_factors(dtype: torch.dtype) -> None:
    a, b, c = some((3, 4), dtype), some((4,), dtype), some((3, 1), dtype)
    for op in (torch.add, torch.sub, torch.rsub):
        check(op, a, b, alpha=3)
        check(op, a, 2, alpha=3)
    check(torch.addcmul, a, b, c, value=2)
    check_in_place(torch.Tensor.addcmul_, a, b, c, value=2)
    if dtype.is_floating_point:
        check(torch.addcdiv, a, b, c, value=0.5)
        check_in_place(torch.Tensor.addcdiv_, a, b, c, value=0.5)
        check(torch.lerp, a, a.flip(0), 0.25)
        check(torch.lerp, a, a.flip(0), c)
        check_in_place(torch.Tensor.lerp_, a, a.flip(0), 0.25)
        check_in_place(torch.Tensor.lerp_, a, a.flip(0), c)


@pytest.mark.parametrize("mode", [None, "trunc", "floor"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32, torch.int64], ids=str)
def test_division_modes(mode: str | None, dtype: torch.dtype) -> None:
    a, b = some((3, 4), dtype) - 4, some((4,), dtype)
    check(torch.div, a, b, rounding_mode=mode)
    check(torch.div, a, -3, rounding_mode=mode)
    if mode or dtype.is_floating_point:
        check_in_place(torch.Tensor.div_, a, b, rounding_mode=mode)
        check_in_place(torch.Tensor.div_, a, -3, rounding_mode=mode)


def test_add_relu() -> None:
    a = torch.randn(3, 4)
    check(torch._VF._add_relu, a, -a.flip(0))  # noqa: SLF001
    check_in_place(torch._VF._add_relu_, a, -a.flip(0))  # noqa: SLF001


def test_xlogy_with_numbers() -> None:
    a = torch.tensor([0.0, 1.0, 2.5])
    check(torch.xlogy, a, 2.0)
    check(torch.xlogy, 2.0, a)
    check_in_place(torch.Tensor.xlogy_, a, 2.0)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8], ids=str)
def test_integers_divided_by_zero_do_not_raise(dtype: torch.dtype) -> None:
    dividend, divisor = torch.tensor([7, 5], dtype=dtype), torch.tensor([0, 2], dtype=dtype)
    a, b = dividend.to("npu"), divisor.to("npu")
    for op, expected in (
        (torch.floor_divide, [0, 2]),
        (torch.remainder, [7, 1]),
        (torch.fmod, [7, 1]),
    ):
        assert op(a, b).tolist() == expected
        assert getattr(a.clone(), f"{op.__name__}_")(b).tolist() == expected
    assert torch.remainder(a, 0).tolist() == [7, 5]
    assert torch.remainder(7, b).tolist() == [7, 1]
    assert torch.div(a, b, rounding_mode="trunc").tolist() == [0, 2]


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
def test_complex(dtype: torch.dtype) -> None:
    a, b = torch.randn(3, 4, dtype=dtype), torch.randn(4, dtype=dtype)
    for op in (torch.add, torch.sub, torch.mul, torch.div, torch.pow):
        check(op, a, b)
        check(op, a, 2 + 1j)


def test_mixed_dtypes() -> None:
    check(torch.add, some((3,), torch.int32), some((3,), torch.float16))
    check(torch.mul, some((3,), torch.bfloat16), some((3,), torch.float32))
    check(torch.mul, some((3,), torch.bool), some((3,), torch.int64))
    check_in_place(torch.Tensor.add_, some((3,), torch.float32), some((3,), torch.int64))


def test_arithmetic_refuses_wrong_calls() -> None:
    integers, numbers = some((3,), torch.int32), some((3,), torch.float32)
    rejects("aclnnInplaceAdd", torch.Tensor.add_, integers, numbers)
    rejects("aclnnInplaceMul", torch.Tensor.mul_, integers, numbers)
    rejects("aclnnSub", torch.sub, torch.tensor([True]), torch.tensor([True]))


def test_refusals_of_shifts() -> None:
    rejects("aclnnLeftShift", torch.bitwise_left_shift, torch.ones(2), torch.ones(2))
