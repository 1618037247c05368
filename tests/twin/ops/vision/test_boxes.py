"""The choice of boxes that overlap little: native/opapi/ops/vision/boxes.cpp."""

from __future__ import annotations

import ctypes

import pytest
import torch

from tests.twin.aclnn_calls import AclnnError, call

IMAGES, CLASSES, BOXES, MOST = 2, 3, 20, 6


def overlap(a: torch.Tensor, b: torch.Tensor) -> float:
    sides = (torch.minimum(a[2:], b[2:]) - torch.maximum(a[:2], b[:2])).clamp(min=0)
    shared = float(sides.prod())
    areas = [float((box[2:] - box[:2]).prod()) for box in (a, b)]
    return shared / (sum(areas) - shared)


def chosen(
    boxes: torch.Tensor, scores: torch.Tensor, threshold: float, least: float
) -> torch.Tensor:
    """Rows of image, class and box; -1 where a class has fewer."""
    rows = torch.full((IMAGES, CLASSES, MOST, 3), -1, dtype=torch.int32)
    for image in range(IMAGES):
        for each in range(CLASSES):
            kept: list[int] = []
            for box in scores[image, each].argsort(descending=True, stable=True).tolist():
                far = all(overlap(boxes[image, box], boxes[image, k]) <= threshold for k in kept)
                if far and len(kept) < MOST:
                    kept.append(box)
            for place, box in enumerate(kept):
                if scores[image, each, box] > least:
                    rows[image, each, place] = torch.tensor([image, each, box])
    return rows.flatten(0, 2)


def selected(boxes: torch.Tensor, scores: torch.Tensor, *, form: int, most: int) -> torch.Tensor:
    out = torch.full((IMAGES * CLASSES * MOST, 3), 9, dtype=torch.int32).to("npu")
    given = [boxes.to("npu"), scores.to("npu"), [most], [0.3], [0.6]]
    call("aclnnNonMaxSuppression", *given, ctypes.c_int32(form), out)
    return out.cpu()


def test_boxes_that_overlap_are_suppressed() -> None:
    generator = torch.Generator().manual_seed(6)
    centres = torch.rand(IMAGES, BOXES, 2, generator=generator)
    sizes = torch.rand(IMAGES, BOXES, 2, generator=generator) / 2 + 0.1
    scores = torch.rand(IMAGES, CLASSES, BOXES, generator=generator)
    corners = torch.cat([centres - sizes / 2, centres + sizes / 2], -1)
    expected = chosen(corners, scores, 0.3, 0.6)
    assert (expected == -1).any()
    assert torch.equal(selected(corners, scores, form=0, most=MOST), expected)
    by_centre = torch.cat([centres, sizes], -1)
    assert torch.equal(selected(by_centre, scores, form=1, most=MOST), expected)
    with pytest.raises(AclnnError, match="selectedIndices has the shape"):
        selected(corners, scores, form=0, most=MOST + 1)
