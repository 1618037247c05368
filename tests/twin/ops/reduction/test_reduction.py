"""Reductions and running sums: native/opapi/ops/reduction/reduction.cpp, cumulative.cpp."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import torch

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import (
    FLOATS,
    INTEGERS,
    agree,
    check,
    check_out,
    copied,
    layouts,
    rejects,
    run_on_npu,
)
from tests.twin.ops.samples import different, some

if TYPE_CHECKING:
    from collections.abc import Callable

ORDERED = FLOATS + INTEGERS
OVER_ALL = {
    "sum": ORDERED,
    "nansum": ORDERED,
    "prod": ORDERED,
    "mean": FLOATS,
    "all": (*ORDERED, torch.bool),
    "any": (*ORDERED, torch.bool),
    "amax": ORDERED,
    "amin": ORDERED,
    "max": ORDERED,
    "min": ORDERED,
    "aminmax": ORDERED,
    "argmax": ORDERED,
    "argmin": ORDERED,
    "median": ORDERED,
    "nanmedian": ORDERED,
    "std": FLOATS,
    "var": FLOATS,
    "std_mean": FLOATS,
    "var_mean": FLOATS,
}
WITHOUT_IDENTITY = {"amax", "amin", "max", "min", "aminmax", "argmax", "argmin"}
OVER_DIM = {
    **{name: dtypes for name, dtypes in OVER_ALL.items() if name != "aminmax"},
    **dict.fromkeys(("logsumexp", "cumsum", "cumprod", "cummax", "cummin", "kthvalue"), ORDERED),
}
OVER_DIMS = (
    "sum",
    "nansum",
    "mean",
    "amax",
    "amin",
    "all",
    "any",
    "std",
    "var",
    "std_mean",
    "var_mean",
    "logsumexp",
)
WITH_OUT = (
    "sum",
    "nansum",
    "prod",
    "mean",
    "amax",
    "amin",
    "std",
    "var",
    "logsumexp",
    "cumsum",
    "cumprod",
)


def fill(name: str, dtype: torch.dtype) -> Callable[[tuple[int, ...]], torch.Tensor]:
    """Small factors keep products in the range of half precision; indices need one answer."""
    if name in {"argmax", "argmin", "median", "nanmedian", "kthvalue"}:
        return lambda shape: different(shape, dtype)
    return lambda shape: some(shape, dtype, -1, 2) if "prod" in name else some(shape, dtype)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name, dtypes in OVER_ALL.items() for dtype in dtypes],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0")
def test_over_all(name: str, dtype: torch.dtype) -> None:
    for tensor in layouts(fill(name, dtype)):
        if tensor.numel() or name not in WITHOUT_IDENTITY:
            check(getattr(torch, name), tensor)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name, dtypes in OVER_DIM.items() for dtype in dtypes],
    ids=str,
)
def test_over_one_dim(name: str, dtype: torch.dtype) -> None:
    arguments = (2,) if name == "kthvalue" else ()
    for tensor in layouts(fill(name, dtype)):
        for dim in (0, -1) if tensor.numel() > 1 else ():
            check(getattr(torch, name), tensor, *arguments, dim)


@pytest.mark.parametrize("name", OVER_DIMS)
@pytest.mark.parametrize("keepdim", [False, True])
def test_over_dims(name: str, keepdim: bool) -> None:  # noqa: FBT001
    tensor = some((2, 3, 4, 5), torch.float32).permute(2, 0, 3, 1)
    for dims in ([0], [1, 3], [-1, 0, 2], [0, 1, 2, 3]):
        if name in {"all", "any"}:
            check(getattr(torch, name), tensor > 0, dims[0], keepdim=keepdim)
        else:
            check(getattr(torch, name), tensor, dims, keepdim=keepdim)


@pytest.mark.parametrize("name", WITH_OUT)
def test_out(name: str) -> None:
    tensor = some((4, 10), torch.float32)[:, ::2]
    check_out(getattr(torch, name), tensor, 1)
    check_out(getattr(torch, name), tensor.t(), 0)


@pytest.mark.parametrize(
    ("name", "source", "target"),
    [
        ("sum", torch.float16, torch.float32),
        ("sum", torch.int32, torch.float32),
        ("sum", torch.bool, torch.int64),
        ("mean", torch.int64, torch.float32),
        ("mean", torch.float32, torch.float64),
        ("prod", torch.int32, torch.int64),
        ("cumsum", torch.int32, torch.float32),
        ("cumprod", torch.float16, torch.float32),
        ("nansum", torch.float16, torch.float32),
    ],
    ids=str,
)
def test_dtype(name: str, source: torch.dtype, target: torch.dtype) -> None:
    check(getattr(torch, name), some((3, 4), source, 1, 3), 1, dtype=target)


@pytest.mark.parametrize("correction", [0, 1, 3])
def test_correction(correction: int) -> None:
    for op in (torch.std, torch.var, torch.std_mean, torch.var_mean):
        check(op, some((5, 6), torch.float32), dim=1, correction=correction)
        check(op, some((5, 6), torch.float32), correction=correction)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("order", [0, 1, 2, 3, 2.5, math.inf, -math.inf])
def test_norms(order: float, dtype: torch.dtype) -> None:
    tensor = some((3, 4, 5), dtype, 1, 3)
    check(torch.linalg.vector_norm, tensor, order)
    check(torch.linalg.vector_norm, tensor, order, dim=[0, 2], keepdim=True)
    check(torch.ops.aten.norm.Scalar, tensor, order)
    check(torch.ops.aten.norm.ScalarOpt_dim, tensor, order, [1])
    check(torch.renorm, tensor, 2 if math.isinf(order) or not order else order, 1, 1.5)


def test_norm_in_another_dtype() -> None:
    check(torch.linalg.vector_norm, some((3, 4), torch.float16), 2, dtype=torch.float32)
    norm = torch.ops.aten.norm.ScalarOpt_dim_dtype
    check(norm, some((3, 4), torch.float16), 2, [1], keepdim=False, dtype=torch.float32)


def test_nan() -> None:
    tensor = torch.tensor([[1.0, math.nan, 3.0], [math.nan, math.nan, math.nan], [2.0, 5.0, -1.0]])
    for name in ("max", "min", "median", "nanmedian", "cummax", "argmax"):
        check(getattr(torch, name), tensor, 1)
    for name in ("sum", "nansum", "amax", "aminmax", "median", "nanmedian", "all"):
        check(getattr(torch, name), tensor)


@pytest.mark.filterwarnings("ignore:_aminmax is deprecated")
def test_pair_of_extremes() -> None:
    tensor = some((3, 4), torch.float32)
    check(torch._aminmax, tensor)  # noqa: SLF001
    check(torch._aminmax, tensor, 1, True)  # noqa: SLF001, FBT003
    check(torch.aminmax, tensor, dim=0, keepdim=True)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8], ids=str)
def test_bincount(dtype: torch.dtype) -> None:
    values = some((20,), dtype, 0, 6)
    check(torch.bincount, values)
    check(torch.bincount, values, minlength=9)
    check(torch.bincount, values, weights=some((20,), torch.float32))
    check(torch.bincount, values, weights=some((20,), torch.int64))
    check(torch.bincount, values[:0], minlength=3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_histc(dtype: torch.dtype) -> None:
    for tensor in layouts(lambda shape: some(shape, dtype)):
        check(torch.histc, tensor, bins=5, min=-2, max=3)
        check(torch.histc, tensor, bins=4)


def test_histc_of_integers() -> None:
    values = torch.tensor([0, 1, 1, 2, 4, 4, 4], dtype=torch.int32)
    assert torch.histc(values.to("npu"), bins=5, min=0, max=4).tolist() == [1, 2, 1, 0, 3]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32], ids=str)
def test_trace(dtype: torch.dtype) -> None:
    for x in (some((4, 5), dtype), some((5, 4), dtype).t()):
        # Some releases of torch have no trace of float16 on the CPU.
        is_half = dtype == torch.float16
        expected = torch.trace(x.float()).half() if is_half else torch.trace(x)
        agree(run_on_npu(torch.trace, x), expected)


def test_running_sum_in_place() -> None:
    tensor = some((3, 4), torch.float32)
    device = copied(tensor, "npu")
    torch.cumsum(device, 1, out=device)
    torch.testing.assert_close(device.cpu(), torch.cumsum(tensor, 1))


def test_outputs_of_another_dtype_are_converted() -> None:
    tensor = some((3, 4), torch.float32)
    total, place = (
        torch.empty(3, dtype=torch.float16).to("npu"),
        torch.empty(3, dtype=torch.int32).to("npu"),
    )
    call("aclnnReduceSum", tensor.to("npu"), [1], False, torch.float32, total)  # noqa: FBT003
    call("aclnnArgMax", tensor.to("npu"), 1, False, place)  # noqa: FBT003
    torch.testing.assert_close(total.cpu(), tensor.sum(1).half())
    assert place.tolist() == tensor.argmax(1).tolist()


def test_reduction_refuses_wrong_calls() -> None:
    rejects("aclnnAmax", torch.amax, some((0, 3), torch.float32), 0)
    rejects("aclnnKthvalue", torch.kthvalue, some((3,), torch.float32), 7)
    rejects("aclnnTrace", torch.trace, some((3,), torch.float32))
