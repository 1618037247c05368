"""Sorting, binary search, unique values: native/opapi/ops/reduction/sorting.cpp."""

from __future__ import annotations

import pytest
import torch

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import FLOATS, INTEGERS, check, check_out, layouts, rejects
from tests.twin.ops.samples import different, some

SORTED = (torch.float32, torch.float16, torch.bfloat16, *INTEGERS)  # torch_npu refuses float64


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", SORTED, ids=str)
def test_sort(dtype: torch.dtype, descending: bool) -> None:  # noqa: FBT001
    for tensor in layouts(lambda shape: some(shape, dtype)):
        check(torch.sort, tensor, dim=0, descending=descending, stable=True)
        check(torch.sort, tensor, descending=descending)
        check(torch.argsort, tensor, descending=descending, stable=True)


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_topk(dtype: torch.dtype, largest: bool) -> None:  # noqa: FBT001
    for tensor in layouts(lambda shape: different(shape, dtype)):
        check(torch.topk, tensor, min(3, tensor.shape[-1]) if tensor.dim() else 1, largest=largest)
    check(torch.topk, different((5, 4), dtype), 2, dim=0)


def test_nan_sorts_last() -> None:
    tensor = torch.tensor([2.0, torch.nan, -1.0, torch.inf])
    check(torch.sort, tensor)
    check(torch.topk, tensor, 2)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_searchsorted(dtype: torch.dtype, right: bool) -> None:  # noqa: FBT001
    sequence = torch.arange(0, 20, 2, dtype=dtype)
    values = some((3, 4), dtype, 0, 21)
    for int32 in (False, True):
        check(torch.searchsorted, sequence, values, right=right, out_int32=int32)
        check(torch.bucketize, values, sequence, right=right, out_int32=int32)
        check(torch.searchsorted, sequence, 7, right=right, out_int32=int32)
    order = torch.randperm(10, generator=torch.Generator().manual_seed(0))
    check(torch.searchsorted, sequence[torch.argsort(order)], values, sorter=order)
    check(torch.searchsorted, sequence.reshape(2, 5), values[:2], right=right)
    check_out(torch.searchsorted, sequence, values)


def test_bucketize() -> None:
    values, boundaries = some((3, 4), torch.float32), torch.tensor([-3.0, 0.0, 2.0])
    inputs, right = (values.to("npu"), boundaries.to("npu")), True
    for dtype in (torch.int32, torch.int64):
        out = torch.empty(3, 4, dtype=dtype).to("npu")
        call("aclnnBucketize", *inputs, dtype == torch.int32, right, out)
        assert out.tolist() == torch.bucketize(values, boundaries, right=True).tolist()


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.int64, torch.int32, torch.bool], ids=str
)
def test_unique(dtype: torch.dtype) -> None:
    for shape in ((4, 5), (0,), (7,)):
        tensor = some(shape, dtype)
        for inverse in (False, True):
            for counts in (False, True):
                check(torch.unique, tensor, return_inverse=inverse, return_counts=counts)
                check(
                    torch.unique_consecutive, tensor, return_inverse=inverse, return_counts=counts
                )
        check(torch._unique, tensor, True, True)  # noqa: SLF001, FBT003
    check(torch.unique, some((10, 5), dtype).t()[:, ::2], return_counts=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=str)
def test_unique_slices(dtype: torch.dtype) -> None:
    tensor = torch.tensor([[1, 2, 1, 1], [3, 4, 3, 3], [1, 2, 1, 1]]).to(dtype)
    for dim in (0, 1, -1):
        check(torch.unique, tensor, dim=dim)
        if dim >= 0:
            check(torch.unique, tensor, dim=dim, return_inverse=True, return_counts=True)
            check(
                torch.unique_consecutive, tensor, dim=dim, return_inverse=True, return_counts=True
            )


def test_sorting_refuses_wrong_calls() -> None:
    rejects("aclnnTopk", torch.topk, some((3,), torch.float32), 5)
    rejects("aclnnSort", torch.sort, some((3,), torch.complex64), stable=True)
