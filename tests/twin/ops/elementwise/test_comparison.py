"""Comparisons and tests that give booleans: native/opapi/ops/elementwise/comparison.cpp."""

from __future__ import annotations

import pytest
import torch

from tests.twin.aclnn_calls import Scalar, call
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

NO = False
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
DTYPES = (*FLOATS, *INTEGERS, torch.bool)


def some(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.randint(0, 3, shape, generator=torch.Generator().manual_seed(1)).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name: str, dtype: torch.dtype) -> None:
    op, in_place = getattr(torch, name), getattr(torch.Tensor, f"{name}_")
    for tensor in layouts(lambda shape: some(shape, dtype)):
        other = tensor.flip(0) if tensor.dim() else tensor
        for operand in (other, 1, 0.5):
            check(op, tensor, operand)
            check_out(op, tensor, operand)
            check_in_place(in_place, tensor, operand)
    check(op, some((3, 1, 4), dtype), some((2, 1), dtype))


@pytest.mark.parametrize("name", COMPARISONS)
def test_results_of_other_dtypes(name: str) -> None:
    a, b = some((3, 4), torch.float32), some((4,), torch.float32)
    out = torch.empty(3, 4).to("npu")
    getattr(torch, name)(a.to("npu"), b.to("npu"), out=out)
    assert torch.equal(out.cpu(), getattr(torch, name)(a, b).float())


@pytest.mark.parametrize("name", COMPARISONS)
def test_number_in_a_cpu_tensor(name: str) -> None:
    op, host = getattr(torch, name), some((3, 4), torch.float32)
    device, number = copied(host, "npu"), torch.tensor(1.0)
    assert torch.equal(op(device, number).cpu(), op(host, number))
    assert torch.equal(op(number, device).cpu(), op(number, host))


def test_comparisons_with_nan() -> None:
    a = torch.tensor([float("nan"), 1.0, float("inf")])
    for name in COMPARISONS:
        check(getattr(torch, name), a, a)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_equal(dtype: torch.dtype) -> None:
    for tensor in layouts(lambda shape: some(shape, dtype)):
        check(torch.equal, tensor, tensor)
        check(torch.equal, tensor, tensor.logical_not().to(dtype))
    check(torch.equal, some((3,), dtype), some((4,), dtype))


SPECIAL = [0.0, -1.5, float("inf"), float("-inf"), float("nan")]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_kinds_of_numbers(dtype: torch.dtype) -> None:
    a = torch.tensor(SPECIAL, dtype=dtype)
    for op in (torch.isfinite, torch.isneginf, torch.isposinf, torch.isnan, torch.isinf):
        check(op, a)
        check(op, a.repeat(4, 1).t())
        check(op, torch.tensor([1, 2]))
    check_out(torch.isneginf, a)
    check_out(torch.isposinf, a)


@pytest.mark.parametrize("equal_nan", [False, True])
@pytest.mark.parametrize("dtype", [*FLOATS, torch.int32], ids=str)
def test_isclose(dtype: torch.dtype, equal_nan: bool) -> None:  # noqa: FBT001
    a = torch.tensor(SPECIAL if dtype.is_floating_point else [1, 2, 3], dtype=dtype)
    equal_nan = equal_nan and dtype.is_floating_point
    check(torch.isclose, a, a, equal_nan=equal_nan)
    check(torch.isclose, a, a * 2, equal_nan=equal_nan)
    check(torch.isclose, a, a + 1, rtol=0.5, atol=0.3)
    check(torch.isclose, a[:, None], a)


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.int64], ids=str)
def test_isin(dtype: torch.dtype, invert: bool) -> None:  # noqa: FBT001
    a = some((4, 5), dtype)
    check(torch.isin, a, some((2,), dtype), invert=invert)
    check(torch.isin, a, 2, invert=invert)
    check(torch.isin, 2, a, invert=invert)
    check(torch.isin, 7, a, invert=invert)


def test_comparison_refuses_wrong_calls() -> None:
    rejects("aclnnLtTensor", torch.lt, torch.ones(2, dtype=torch.complex64), torch.ones(2))


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32])
def test_unsigned_numbers_are_compared_and_shifted(dtype: torch.dtype) -> None:
    """Functions of C programs; ATen has no kernels for these dtypes."""
    numbers = torch.tensor([1, 40000, 65535])
    first, second = (each.to(dtype).to("npu") for each in (numbers, numbers.flip(0)))
    out = torch.zeros(3, dtype=torch.bool).to("npu")
    call("aclnnGtTensor", first, second, out)
    assert out.tolist() == [False, False, True]
    shifted = torch.zeros(3, dtype=torch.int64).to(dtype).to("npu")
    call("aclnnLeftShift", first, torch.ones(3).to(dtype).to("npu"), shifted)
    doubled = [2, 80000, 131070]
    assert shifted.cpu().long().tolist() == [each % 2 ** (8 * dtype.itemsize) for each in doubled]


def test_booleans_are_found() -> None:
    flags, out = torch.tensor([True, False]).to("npu"), torch.zeros(2, dtype=torch.bool).to("npu")
    call("aclnnIsInTensorScalar", flags, Scalar(1), NO, NO, out)
    assert out.tolist() == [True, False]
