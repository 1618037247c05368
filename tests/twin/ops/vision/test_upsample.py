"""Resampling: native/opapi/ops/vision/upsample.cpp."""

from __future__ import annotations

import ctypes
from functools import partial

import pytest
import torch
from torch.nn import functional

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import agree, check, rejects, run_on_npu
from tests.twin.ops.gradients import check_gradients, leaf
from tests.twin.ops.samples import some

MODES = [
    *((dims, mode, None) for dims in (1, 2, 3) for mode in ("nearest", "nearest-exact")),
    *(
        (dims, mode, align)
        for dims, mode in ((1, "linear"), (2, "bilinear"), (2, "bicubic"), (3, "trilinear"))
        for align in (False, True)
    ),
]


def images(dims: int) -> torch.Tensor:
    return leaf((2, 3, *(5,) * dims))


@pytest.mark.parametrize(("dims", "mode", "align"), MODES)
def test_size(dims: int, mode: str, align: bool | None) -> None:  # noqa: FBT001
    for size in (8, 3, 5, 1):
        check_gradients(
            partial(functional.interpolate, size=size, mode=mode, align_corners=align), images(dims)
        )


@pytest.mark.parametrize("recompute", [None, True])
@pytest.mark.parametrize(("dims", "mode", "align"), MODES)
def test_scale(dims: int, mode: str, align: bool | None, recompute: bool | None) -> None:  # noqa: FBT001
    for factor in (2.0, 1.5, 0.6):
        interpolate = partial(
            functional.interpolate,
            scale_factor=factor,
            mode=mode,
            align_corners=align,
            recompute_scale_factor=recompute,
        )
        check_gradients(interpolate, images(dims))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_antialias(mode: str) -> None:
    for size in (3, 8):
        check_gradients(
            partial(functional.interpolate, size=size, mode=mode, antialias=True), images(2)
        )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half(dtype: torch.dtype) -> None:
    for mode in ("nearest", "bilinear", "bicubic"):
        check(partial(functional.interpolate, size=7, mode=mode), some((1, 2, 4, 4), dtype))


def test_layouts() -> None:
    last = some((2, 6, 8, 3), torch.float32).permute(0, 3, 1, 2)
    for mode in ("nearest", "bilinear", "bicubic"):
        upsample = partial(functional.interpolate, scale_factor=2, mode=mode)
        torch.testing.assert_close(upsample(last.to("npu")).cpu(), upsample(last))


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(
    ("dims", "mode"),
    [(2, "bilinear"), (2, "nearest"), (2, "bicubic"), (3, "bilinear"), (3, "nearest")],
)
def test_grid_sample(dims: int, mode: str, padding: str, align: bool) -> None:  # noqa: FBT001
    grid = leaf((2, *(4,) * dims, dims), seed=8)
    sample = partial(functional.grid_sample, mode=mode, padding_mode=padding, align_corners=align)
    check_gradients(sample, images(dims), grid)
    check_gradients(sample, images(dims), grid.detach())


@pytest.mark.parametrize("align", [False, True])
def test_affine_grid(align: bool) -> None:  # noqa: FBT001
    grid = partial(functional.affine_grid, align_corners=align)
    check(grid, some((2, 2, 3), torch.float32), size=[2, 1, 4, 5])
    check(grid, some((2, 3, 4), torch.float32), size=[2, 1, 4, 5, 3])


def resized(x: torch.Tensor, scales: list[float], size: tuple[int, int], mode: str) -> torch.Tensor:
    out = x.new_zeros(*x.shape[:2], *size)
    call("aclnnResize", x, scales, mode, out)
    return out


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_resize(mode: str, dtype: torch.dtype) -> None:
    x = some((2, 3, 5, 4), dtype)
    expected = functional.interpolate(x, size=(8, 2), mode=mode)
    agree(run_on_npu(resized, x, [1.0, 1.0, 1.6, 0.5], (8, 2), mode), expected)


def test_resize_refuses_other_sizes_and_modes() -> None:
    x = some((2, 3, 5, 4), torch.float32)
    rejects("scales", resized, x, [1.0, 1.0, 2.0], (10, 4), "nearest")
    rejects("dimension 2", resized, x, [1.0, 1.0, 2.0, 1.0], (8, 4), "nearest")
    rejects("mode", resized, x, [1.0, 1.0, 2.0, 1.0], (10, 4), "bicubic")


def test_gradient_of_points_between_three_points() -> None:
    points = leaf((2, 3, 6))
    index, weight = torch.randint(0, 6, (2, 4, 3)), torch.rand(2, 4, 3)
    neighbours = points.gather(2, index.flatten(1).unsqueeze(1).expand(2, 3, 12)).view(2, 3, 4, 3)
    grad = some((2, 3, 4), torch.float32)
    (expected,) = torch.autograd.grad((neighbours * weight.unsqueeze(1)).sum(3), points, grad)
    out = torch.zeros(2, 3, 6).to("npu")
    operands = [grad.to("npu"), index.int().to("npu"), weight.to("npu")]
    call("aclnnThreeInterpolateBackward", *operands, ctypes.c_int32(6), out)
    agree(out, expected)
