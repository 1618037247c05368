"""Features of regions: native/opapi/ops/vision/roi_align.cpp."""

from __future__ import annotations

import ctypes
import math

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import agree, rejects, run_on_npu
from tests.twin.ops.samples import some

ROIS = torch.tensor(
    [
        [0, 1.0, 2.0, 12.5, 9.0],
        [1, -6.0, -2.0, 3.0, 4.0],
        [1, 20.0, 14.0, 60.0, 60.0],
        [0, 5.0, 5.0, 5.2, 5.1],
    ]
)
SCALE, HEIGHT, WIDTH = 0.5, 3, 2


def pixel(image: torch.Tensor, y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """One bilinear sample of [channels, height, width]; 0 beyond the border."""
    height, width = image.shape[1:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return torch.zeros(image.size(0))
    y, x = y.clamp(0, height - 1), x.clamp(0, width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    dy, dx = y - top, x - left
    upper = image[:, top, left] * (1 - dx) + image[:, top, right] * dx
    lower = image[:, bottom, left] * (1 - dx) + image[:, bottom, right] * dx
    return upper * (1 - dy) + lower * dy


def reference(
    features: torch.Tensor, samples: int, mode: int, *, largest: bool = False
) -> torch.Tensor:
    result = []
    for roi in ROIS:
        begin, end = roi[1:3] * SCALE, roi[3:5] * SCALE
        if mode == 1:
            end = (roi[3:5] + 1) * SCALE
        size = end - begin
        if mode == 2:
            begin = begin - 0.5
        else:
            size = size.clamp(min=1)
        steps = size / torch.tensor([WIDTH, HEIGHT])
        counts = [samples or max(math.ceil(step), 1) for step in steps]
        bins = []
        for row in range(HEIGHT):
            for column in range(WIDTH):
                points = [
                    pixel(
                        features[int(roi[0])],
                        begin[1] + steps[1] * (row + (i + 0.5) / counts[1]),
                        begin[0] + steps[0] * (column + (j + 0.5) / counts[0]),
                    )
                    for i in range(counts[1])
                    for j in range(counts[0])
                ]
                values = torch.stack(points)
                bins.append(values.amax(0) if largest else values.mean(0))
        result.append(torch.stack(bins, 1).view(-1, HEIGHT, WIDTH))
    return torch.stack(result)


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("samples", [0, 2])
def test_forward_and_backward(samples: int, mode: int) -> None:
    features = some((2, 3, 8, 11), torch.float32).requires_grad_()
    expected = reference(features, samples, mode)
    seed = some(tuple(expected.shape), torch.float32)
    (grad,) = torch.autograd.grad(expected, features, seed)
    device = features.detach().to("npu").requires_grad_()
    rois = ROIS.to("npu")
    actual = torch_npu.npu_roi_align(device, rois, SCALE, HEIGHT, WIDTH, samples, mode)
    agree(actual.detach(), expected.detach())
    sizes = list(features.shape)
    result = torch_npu.npu_roi_alignbk(
        seed.to("npu"), rois, sizes, WIDTH, HEIGHT, SCALE, samples, roi_end_mode=mode
    )
    torch.testing.assert_close(result.cpu(), grad, rtol=1e-4, atol=1e-4)
    half = torch_npu.npu_roi_align(
        device.detach().half(), rois.half(), SCALE, HEIGHT, WIDTH, samples, mode
    )
    assert half.dtype == torch.float16
    torch.testing.assert_close(half.cpu().float(), expected.detach(), rtol=1e-2, atol=5e-2)


def test_roi_align_refuses_wrong_calls() -> None:
    features = torch.ones(1, 2, 4, 4)
    align = torch_npu.npu_roi_align
    rejects("roiEndMode is 3", align, features, ROIS[:1], 1.0, 2, 2, 2, 3)
    rejects("names image 1", align, features, ROIS, 1.0, 2, 2, 2, 0)
    rejects("rois has the shape", align, features, ROIS[:, 1:], 1.0, 2, 2, 2, 0)
    nothing = run_on_npu(align, features, ROIS[:0], 1.0, 2, 2, 2, 0)
    assert isinstance(nothing, torch.Tensor)
    assert nothing.shape == (0, 2, 2, 2)
    rejects("images with pixels", align, features[:, :, :0], ROIS[:1], 1.0, 2, 2, 2, 0)
    rejects("0 to 16777216 samples", align, features, ROIS[:1], 1.0, 2, 2, 1 << 40, 0)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, 1e18])
@pytest.mark.parametrize("place", range(5))
def test_no_pixel_is_that_far(wrong: float, place: int) -> None:
    rois = ROIS[:1].clone()
    rois[0, place] = wrong
    words = "rois has a region" if place else "rois names image"
    for mode in (0, 1, 2):
        rejects(words, torch_npu.npu_roi_align, torch.ones(1, 2, 4, 4), rois, 1.0, 2, 2, 0, mode)
        seed = torch.ones(1, 2, 2, 2)
        backward = (seed, rois, [1, 2, 4, 4], 2, 2, 1.0, 0)
        rejects(words, torch_npu.npu_roi_alignbk, *backward, roi_end_mode=mode)


def aligned_regions(features: torch.Tensor, *, aligned: bool) -> torch.Tensor:
    out = torch.zeros(len(ROIS), features.size(1), HEIGHT, WIDTH).to(features.device)
    numbers = (HEIGHT, WIDTH, ctypes.c_float(SCALE), 2, aligned)
    call("aclnnRoiAlignV2", features, ROIS.to(features.device), *numbers, out)
    return out


@pytest.mark.parametrize("aligned", [False, True])
def test_regions_with_and_without_half_a_pixel(*, aligned: bool) -> None:
    features = some((2, 3, 16, 20), torch.float32)
    agree(
        run_on_npu(aligned_regions, features, aligned=aligned), reference(features, 2, 2 * aligned)
    )
    grad = some((len(ROIS), 3, HEIGHT, WIDTH), torch.float32)
    variable = features.clone().requires_grad_()
    (expected,) = torch.autograd.grad(reference(variable, 2, 2 * aligned), variable, grad)
    out = torch.zeros_like(features).to("npu")
    numbers = ([2, 3, 16, 20], HEIGHT, WIDTH, ctypes.c_float(SCALE), 2, aligned)
    call("aclnnRoiAlignV2Backward", grad.to("npu"), ROIS.to("npu"), *numbers, out)
    agree(out, expected)


def regions_as_in_onnx(features: torch.Tensor, mode: str, samples: int = 2) -> torch.Tensor:
    out = torch.zeros(len(ROIS), features.size(1), HEIGHT, WIDTH).to(features.device)
    boxes = [ROIS[:, 1:].contiguous().to(features.device), ROIS[:, 0].int().to(features.device)]
    numbers = [
        ctypes.c_int32(HEIGHT),
        ctypes.c_int32(WIDTH),
        ctypes.c_int32(samples),
        ctypes.c_float(SCALE),
    ]
    call("aclnnRoiAlign", features, *boxes, mode, *numbers, out)
    return out


def test_regions_with_image_numbers_of_their_own() -> None:
    features = some((2, 3, 16, 20), torch.float32)
    agree(run_on_npu(regions_as_in_onnx, features, "avg"), reference(features, 2, 0))
    rejects("'mode' is 'sum'; allowed: 'avg', 'max'", regions_as_in_onnx, features, "sum")


@pytest.mark.parametrize("samples", [0, 1, 3])
def test_the_largest_of_a_bins_samples(samples: int) -> None:
    features = some((2, 3, 16, 20), torch.float32) - 2  # 0 beyond the border is larger
    expected = reference(features, samples, 0, largest=True)
    assert (expected == 0).any()
    agree(run_on_npu(regions_as_in_onnx, features, "max", samples), expected)
