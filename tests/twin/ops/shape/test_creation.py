"""Filling, copying, casting: native/opapi/ops/shape/creation.cpp."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch.nn import functional

from tests.twin.ops.compare import (
    FLOATS,
    INTEGERS,
    agree,
    check,
    check_in_place,
    check_out,
    copied,
    layouts,
    rejects,
    run_on_npu,
)

DTYPES = (*FLOATS, *INTEGERS, torch.bool, torch.complex64)
BOTH = ("cpu", "npu")


def some(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.randint(0, 5, shape, generator=torch.Generator().manual_seed(1)).to(dtype)


def check_new(op: object, *args: object, **kwargs: object) -> None:
    """Compare a function that makes a tensor on a device out of numbers."""
    assert callable(op)
    expected, actual = (op(*args, **kwargs, device=device) for device in BOTH)
    agree(actual, expected)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_sequences(dtype: torch.dtype) -> None:
    for bounds in ((5,), (2, 9), (1, 10, 3), (10, 0, -4) if dtype.is_signed else (0, 9, 4), (0,)):
        check_new(torch.arange, *bounds, dtype=dtype)
    check_new(torch.linspace, 1, 9, steps=9, dtype=dtype)
    if dtype in FLOATS:
        check_new(torch.arange, 0.5, 3, 0.25, dtype=dtype)
        check_new(torch.linspace, -1, 1, steps=7, dtype=dtype)
        check_new(torch.logspace, 0, 1, steps=5, base=2.0, dtype=dtype)


def test_range() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # deprecated
        check_new(torch.range, 1, 5)
        check_new(torch.range, 5, 1, -2)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_constants(dtype: torch.dtype) -> None:
    check_new(torch.zeros, 3, 4, dtype=dtype)
    check_new(torch.ones, 3, 4, dtype=dtype)
    check_new(torch.full, (3, 4), 3, dtype=dtype)
    check_new(torch.eye, 3, dtype=dtype)
    check_new(torch.eye, 2, 5, dtype=dtype)
    for tensor in layouts(lambda shape: some(shape, dtype)):
        check(torch.ones_like, tensor)
        check(torch.zeros_like, tensor)
        check_in_place(torch.Tensor.zero_, tensor)
        check_in_place(torch.Tensor.fill_, tensor, 3)
        check_in_place(torch.Tensor.fill_, tensor, torch.tensor(2, dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_fill_diagonal(dtype: torch.dtype) -> None:
    check_in_place(torch.Tensor.fill_diagonal_, some((4, 5), dtype), 2)
    check_in_place(torch.Tensor.fill_diagonal_, some((7, 3), dtype), 2, wrap=True)
    check_in_place(torch.Tensor.fill_diagonal_, some((3, 3, 3), dtype), 2)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles(name: str, dtype: torch.dtype) -> None:
    for diagonal in (-1, 0, 2):
        for tensor in layouts(lambda shape: some(shape, dtype)):
            if tensor.dim() >= 2:
                check(getattr(torch, name), tensor, diagonal)
                check_out(getattr(torch, name), tensor, diagonal)
                check_in_place(getattr(torch.Tensor, f"{name}_"), tensor, diagonal)


@pytest.mark.parametrize("shape", [(7, 5), (5, 7), (2, 3, 4, 5), (0, 3), (3, 0), (2500, 2100)])
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles_of_every_shape_and_size(name: str, shape: tuple[int, ...]) -> None:
    """The largest is one that ATen computes on several threads."""
    tensor = some(shape, torch.int8)
    for diagonal in (-9, -4, 0, 1, 4, 9):
        check(getattr(torch, name), tensor, diagonal)
        check_in_place(getattr(torch.Tensor, f"{name}_"), tensor, diagonal)


@pytest.mark.parametrize("size", [0, 1, 100_000, 5_000_000])
@pytest.mark.parametrize("name", ["ones", "zeros"])
def test_bytes_of_every_size(name: str, size: int) -> None:
    for dtype in (torch.bool, torch.uint8, torch.int8):
        check_new(getattr(torch, name), size, dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.int64], ids=str)
def test_one_hot(dtype: torch.dtype) -> None:
    check(functional.one_hot, some((3, 4), dtype))
    check(functional.one_hot, some((4, 3), dtype).t(), 9)


def test_one_hot_of_a_class_that_does_not_exist() -> None:
    encoded = functional.one_hot(torch.tensor([1, 7]).to("npu"), 3)
    assert encoded.tolist() == [[0, 1, 0], [0, 0, 0]]


@pytest.mark.parametrize("target", DTYPES, ids=str)
@pytest.mark.parametrize("source", DTYPES, ids=str)
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_casts(source: torch.dtype, target: torch.dtype) -> None:
    for tensor in layouts(lambda shape: some(shape, source)):
        if target != torch.float64:  # torch_npu makes it float32
            check(torch.Tensor.to, tensor, target)
        check_in_place(torch.Tensor.copy_, torch.zeros(2, *tensor.shape, dtype=target)[1], tensor)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_copies(dtype: torch.dtype) -> None:
    for tensor in layouts(lambda shape: some(shape, dtype)):
        check(torch.clone, tensor)
        check(torch.Tensor.contiguous, tensor)
        check_in_place(torch.Tensor.copy_, tensor, some(tuple(tensor.shape[-1:]), dtype))
        check_in_place(torch.Tensor.copy_, tensor, some(tuple(tensor.shape), torch.float32))


@pytest.mark.parametrize("dtype", [torch.float16, torch.int32, torch.int64], ids=str)
def test_npu_dtype_cast(dtype: torch.dtype) -> None:
    a = torch.tensor([1.0, -2.0, 3.0])
    agree(run_on_npu(torch.ops.npu.npu_dtype_cast, a, dtype), a.to(dtype))
    agree(run_on_npu(torch.ops.npu._npu_dtype_cast, a, dtype), a.to(dtype))  # noqa: SLF001


def test_copy_between_views_of_one_storage() -> None:
    host = torch.arange(12.0).reshape(3, 4)
    device = copied(host, "npu")
    device[0].copy_(device[2])
    host[0].copy_(host[2])
    agree(device, host)


def test_creation_refuses_wrong_calls() -> None:
    rejects("aclnnInplaceFillDiagonal", torch.Tensor.fill_diagonal_, torch.ones(4), 1)
