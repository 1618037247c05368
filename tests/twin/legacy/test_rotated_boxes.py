"""Boxes that are turned, and regions whose parts have channels of their own."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch_npu

SQUARE = [0.0, 0.0, 2.0, 2.0]
OCTAGON = 8 * (math.sqrt(2) - 1)  # overlap of a square of area 4 and itself turned by 45


def boxes(*rows: list[float]) -> torch.Tensor:
    return torch.tensor([rows]).to("npu")


@pytest.mark.parametrize(
    ("one", "other", "area"),
    [
        ([*SQUARE, 0.0], [*SQUARE, 45.0], OCTAGON),
        ([*SQUARE, 30.0], [*SQUARE, 30.0], 4.0),
        ([*SQUARE, 0.0], [1.0, 1.0, 2.0, 2.0, 90.0], 1.0),
        ([*SQUARE, 0.0], [9.0, 0.0, 2.0, 2.0, 10.0], 0.0),
        ([*SQUARE, 0.0], [0.0, 0.0, 0.5, 1.0, 10.0], 0.5),
        ([0.0, 0.0, 8.0, 1.0, 45.0], [2.0, 2.0, 1.0, 1.0, 45.0], 1.0),
        ([0.0, 0.0, 8.0, 1.0, 45.0], [2.0, -2.0, 1.0, 1.0, 45.0], 0.0),
    ],
)
def test_areas_in_common(one: list[float], other: list[float], area: float) -> None:
    found = torch_npu.npu_rotated_overlaps(boxes(one), boxes(other), trans=False)
    assert found.item() == pytest.approx(area, abs=1e-5)
    ratio = torch_npu.npu_rotated_iou(boxes(one), boxes(other))
    whole = one[2] * one[3] + other[2] * other[3] - area
    assert ratio.item() == pytest.approx(area / whole, abs=1e-5)


def test_boxes_by_their_corners_are_turned_the_other_way() -> None:
    here = boxes([0.0, 0.0, 8.0, 1.0, 45.0])
    corners = boxes([1.5, 1.5, 2.5, 2.5, -45.0])
    turned = boxes([-4.0, -0.5, 4.0, 0.5, -45.0])
    assert torch_npu.npu_rotated_overlaps(turned, corners, trans=True).item() == pytest.approx(1)
    assert torch_npu.npu_rotated_overlaps(here, boxes([2.0, 2, 1, 1, 45]), trans=False).item() > 0.9


def test_values_that_hardware_gave() -> None:
    draw = np.random.RandomState(1234)
    given = []
    for count in (3, 2):
        parts = (
            draw.uniform(30, 60, [1, count, 2]),
            draw.randint(1, 20, [1, count, 2]),
            draw.randint(-180, 180, [1, count, 1]),
        )
        given.append(torch.from_numpy(np.concatenate(parts, -1).astype(np.float32)).to("npu"))
    found = torch_npu.npu_rotated_overlaps(*given, trans=False).cpu()
    wanted = torch.zeros(1, 3, 2)
    wanted[0, 0, 1] = 10.289731
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_covered_boxes_are_left_out_best_first() -> None:
    rows = torch.tensor([[50, 50, 20, 10, 0.0], [51, 50, 20, 10, 5.0], [50, 50, 20, 10, 90.0]])
    scores = torch.tensor([0.7, 0.9, 0.8])
    kept, count = torch_npu.npu_nms_rotated(rows.to("npu"), scores.to("npu"), 0.5)
    assert kept.tolist() == [1, 2]
    assert count.tolist() == [2]
    kept, _ = torch_npu.npu_nms_rotated(rows.to("npu"), scores.to("npu"), 0.5, 0.85)
    assert kept.tolist() == [1]
    kept, _ = torch_npu.npu_nms_rotated(rows.to("npu"), scores.to("npu"), 0.5, max_output_size=1)
    assert kept.tolist() == [1]


def pool(x: torch.Tensor, rois: torch.Tensor) -> torch.Tensor:
    found: torch.Tensor = torch_npu.npu_ps_roi_pooling(x, rois.to("npu"), 0.5, 2, 2)
    return found


def test_each_part_of_a_region_has_channels_of_its_own() -> None:
    x = torch.rand(1, 8, 4, 4)
    found = pool(x.to("npu"), torch.tensor([[[0.0], [0], [0], [7], [7]]])).cpu()
    maps = x.reshape(2, 2, 2, 4, 4)
    for row in range(2):
        for column in range(2):
            part = maps[:, row, column, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
            torch.testing.assert_close(found[0, :, row, column], part.mean((-2, -1)))


def test_regions_behind_the_image_or_of_no_image_are_zero() -> None:
    x = torch.ones(2, 8, 1, 1).to("npu")
    rois = torch.tensor([[[1.0], [2], [3], [4], [5]], [[6], [0], [0], [9], [9]]])
    assert pool(x, rois).count_nonzero().item() == 0


def test_gradient_of_pooling_is_that_of_the_means() -> None:
    x = torch.rand(1, 8, 5, 6)
    rois = torch.tensor([[[0.0, 0], [1, 4], [0, 2], [8, 11], [9, 7]]])
    leaf = x.to("npu").requires_grad_()
    weights = torch.rand(2, 2, 2, 2).to("npu")
    torch.autograd.backward((pool(leaf, rois) * weights).sum())
    assert leaf.grad is not None
    for index in (0, 37, 101, 200):
        step = torch.zeros(x.numel())
        step[index] = 1.0  # pooling is linear
        difference = pool((x + step.reshape(x.shape)).to("npu"), rois) - pool(x.to("npu"), rois)
        wanted = (difference * weights).sum().item()
        assert leaf.grad.flatten()[index].item() == pytest.approx(wanted, abs=1e-5)
