"""Pooling and its inverse: native/opapi/ops/vision/pooling.cpp."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
from torch.nn import functional

from tests.twin.ops.compare import agree, check, check_out
from tests.twin.ops.gradients import check_gradients, leaf
from tests.twin.ops.samples import different, some

if TYPE_CHECKING:
    from collections.abc import Callable

AVERAGE: dict[int, Callable[..., torch.Tensor]] = {
    1: functional.avg_pool1d,
    2: functional.avg_pool2d,
    3: functional.avg_pool3d,
}
MAXIMUM: dict[int, Callable[..., torch.Tensor]] = {
    1: functional.max_pool1d,
    2: functional.max_pool2d,
    3: functional.max_pool3d,
}
ADAPTIVE_AVERAGE: dict[int, Callable[..., torch.Tensor]] = {
    1: functional.adaptive_avg_pool1d,
    2: functional.adaptive_avg_pool2d,
    3: functional.adaptive_avg_pool3d,
}
ADAPTIVE_MAXIMUM: dict[int, Callable[..., torch.Tensor]] = {
    1: functional.adaptive_max_pool1d,
    2: functional.adaptive_max_pool2d,
    3: functional.adaptive_max_pool3d,
}
WINDOWS = [
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1},
    {"kernel_size": 3, "stride": 2, "ceil_mode": True},
    {"kernel_size": 1, "stride": 2},
]


def images(dims: int) -> torch.Tensor:
    return leaf((2, 3, *(7,) * dims))


@pytest.mark.parametrize("settings", WINDOWS, ids=str)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_average(dims: int, settings: dict[str, int]) -> None:
    check_gradients(partial(AVERAGE[dims], **settings), images(dims))
    check_gradients(partial(AVERAGE[dims], **settings, count_include_pad=False), images(dims))
    check(partial(AVERAGE[dims], **settings), some((3, *(6,) * dims), torch.float32))


@pytest.mark.parametrize("dims", [2, 3])
def test_average_divisor(dims: int) -> None:
    check_gradients(partial(AVERAGE[dims], kernel_size=2, divisor_override=3), images(dims))


@pytest.mark.parametrize("settings", [*WINDOWS, {"kernel_size": 2, "dilation": 2}], ids=str)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_maximum(dims: int, settings: dict[str, int]) -> None:
    """The kernel of 1 has no room for positions in torch_npu's mask, the others have."""
    check_gradients(partial(MAXIMUM[dims], **settings), images(dims))
    check(partial(MAXIMUM[dims], **settings), some((3, *(6,) * dims), torch.float32))


def test_maximum_of_large_planes() -> None:
    check_gradients(partial(functional.max_pool2d, kernel_size=1), leaf((2, 3, 40, 40)))
    check_gradients(partial(functional.max_pool2d, kernel_size=(1, 2)), leaf((2, 3, 40, 40)))


def test_maximum_with_indices() -> None:
    """torch_npu keeps a mask for 2 dimensions; with out= the caller's tensor takes the indices."""
    device = different((2, 3, 6, 6), torch.float32).to("npu")
    values = torch.empty(2, 3, 3, 3, device="npu")
    indices = torch.empty(2, 3, 3, 3, dtype=torch.int64, device="npu")
    operator = torch.ops.aten.max_pool2d_with_indices.out
    operator(device, [2, 2], [2, 2], [0, 0], [1, 1], ceil_mode=False, out=values, indices=indices)
    expected = functional.max_pool2d(device.cpu(), 2, return_indices=True)
    agree([values, indices], list(expected))


@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_adaptive(dims: int, size: int) -> None:
    check_gradients(partial(ADAPTIVE_AVERAGE[dims], output_size=size), images(dims))
    check_gradients(partial(ADAPTIVE_MAXIMUM[dims], output_size=size), images(dims))


def test_layouts() -> None:
    last = some((2, 6, 8, 3), torch.float32).permute(0, 3, 1, 2)
    for pool in (
        partial(functional.max_pool2d, kernel_size=2),
        partial(functional.avg_pool2d, kernel_size=2),
        partial(functional.adaptive_avg_pool2d, output_size=3),
        partial(functional.adaptive_max_pool2d, output_size=3),
    ):
        actual = pool(last.to("npu"))
        torch.testing.assert_close(actual.cpu().contiguous(), pool(last).contiguous())


def test_out() -> None:
    data = some((2, 3, 4, 4), torch.float32)
    check_out(torch.ops.aten.avg_pool2d, data, [2, 2])
    check_out(torch.ops.aten.adaptive_avg_pool2d, data, [3, 1])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half(dtype: torch.dtype) -> None:
    """Against float32: ATen has not all of them in half precision."""
    for dims in (1, 2, 3):
        data = some((2, 3, *(6,) * dims), dtype)
        for pool in (
            partial(MAXIMUM[dims], kernel_size=2),
            partial(AVERAGE[dims], kernel_size=2),
            partial(ADAPTIVE_AVERAGE[dims], output_size=2),
        ):
            agree(pool(data.to("npu")), pool(data.float()).to(dtype))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_unpool(dims: int) -> None:
    unpool = (functional.max_unpool1d, functional.max_unpool2d, functional.max_unpool3d)[dims - 1]
    data = different((2, 3, *(6,) * dims), torch.float32)
    values, indices = MAXIMUM[dims](data, 2, return_indices=True)
    check(unpool, values, indices, [2] * dims)
    check_gradients(lambda x, i: unpool(x, i, [2] * dims), values.requires_grad_(), indices)


def test_unpool_channels_last() -> None:
    """ATen's kernel changes the layout of its output; the caller's layout holds."""
    data = different((2, 6, 6, 3), torch.float32).permute(0, 3, 1, 2)
    values, indices = functional.max_pool2d(data, 2, return_indices=True)
    expected = functional.max_unpool2d(values, indices, [2, 2])
    actual = functional.max_unpool2d(values.to("npu"), indices.to("npu"), [2, 2])
    assert torch.equal(actual.cpu(), expected)
