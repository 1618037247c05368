"""Logical and bitwise operators: native/opapi/ops/elementwise/logical.cpp."""

from __future__ import annotations

import pytest
import torch

from tests.twin.ops.compare import (
    FLOATS,
    INTEGERS,
    check,
    check_in_place,
    check_out,
    layouts,
    rejects,
)

WHOLE = (*INTEGERS, torch.bool)


def some(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.randint(0, 5, shape, generator=torch.Generator().manual_seed(1)).to(dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE], ids=str)
@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logical(name: str, dtype: torch.dtype) -> None:
    op = getattr(torch, name)
    for tensor in layouts(lambda shape: some(shape, dtype)):
        other = tensor.flip(0) if tensor.dim() else tensor
        check(op, tensor, other)
        check_out(op, tensor, other)
        check_in_place(getattr(torch.Tensor, f"{name}_"), tensor, other)
    check(op, some((3, 1, 4), dtype), some((2, 1), torch.float32))


@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE], ids=str)
def test_logical_not(dtype: torch.dtype) -> None:
    for tensor in layouts(lambda shape: some(shape, dtype)):
        check(torch.logical_not, tensor)
        check_in_place(torch.Tensor.logical_not_, tensor)


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_bitwise(name: str, dtype: torch.dtype) -> None:
    op = getattr(torch, name)
    number = True if dtype == torch.bool else 6
    for tensor in layouts(lambda shape: some(shape, dtype)):
        for other in (tensor.flip(0) if tensor.dim() else tensor, number):
            check(op, tensor, other)
            check_out(op, tensor, other)
            check_in_place(getattr(torch.Tensor, f"{name}_"), tensor, other)
        check(op, number, tensor)


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
def test_bitwise_not(dtype: torch.dtype) -> None:
    for tensor in layouts(lambda shape: some(shape, dtype)):
        check(torch.bitwise_not, tensor)
        check_out(torch.bitwise_not, tensor)
        check_in_place(torch.Tensor.bitwise_not_, tensor)


def test_logical_refuses_wrong_calls() -> None:
    rejects("aclnnBitwiseAndTensor", torch.bitwise_and, torch.ones(2), torch.ones(2))
    rejects("aclnnBitwiseNot", torch.bitwise_not, torch.ones(2))
