"""Boxes that are turned: their overlaps, and which of them are kept.

A box is centre, width, height and an angle in degrees, from the first axis to the second; or its
corners before it is turned, and the angle the other way round. Tests of op-plugin
(`test_nms_rotated.py`, `test_rotated_iou.py`, `test_rotated_overlaps.py`) have the values.
"""

from __future__ import annotations

import torch

from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.legacy.kernels.table import legacy_kernel

Two = tuple[torch.Tensor, torch.Tensor]

TRIANGLE = 3  # corners, at least, of what has an area
INSIDE = 1e-9  # of what a corner may miss an edge by and still lie on it, in parts of its square


def center_of(boxes: torch.Tensor, *, has_corners: bool) -> torch.Tensor:
    """Return boxes [n, 5] as centre, size and angle, in float64."""
    boxes = boxes.double()
    if not has_corners:
        return boxes
    x1, y1, x2, y2, angle = boxes.unbind(-1)
    return torch.stack([(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1, -angle], -1)


def corners_of(boxes: torch.Tensor) -> torch.Tensor:
    """Return the corners [n, 4, 2] of boxes, around."""
    x, y, width, height, angle = boxes.unbind(-1)
    cosine, sine = torch.deg2rad(angle).cos(), torch.deg2rad(angle).sin()
    across = torch.stack([width * cosine, width * sine], -1) / 2
    along = torch.stack([-height * sine, height * cosine], -1) / 2
    turns = [across + along, along - across, -across - along, across - along]
    return torch.stack([x, y], -1)[:, None] + torch.stack(turns, 1)


def cross(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return the cross product of vectors in a plane."""
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def lies_in(points: torch.Tensor, corners: torch.Tensor) -> torch.Tensor:
    """Return which points [..., 4, 2] lie in the box with these corners [..., 4, 2]."""
    origin = corners[..., None, 0, :]
    is_in = torch.ones(points.shape[:-1], dtype=torch.bool)
    for corner in (1, 3):
        side = corners[..., None, corner, :] - origin
        place = ((points - origin) * side).sum(-1)
        length = side.square().sum(-1)
        is_in &= (place >= -INSIDE * length) & (place <= (1 + INSIDE) * length)
    return is_in


def crossings(a: torch.Tensor, b: torch.Tensor) -> Two:
    """Return where the edges of two boxes cross [..., 16, 2], and which of them do."""
    begin, edge = a[..., :, None, :], (a.roll(-1, -2) - a)[..., :, None, :]
    other, its_edge = b[..., None, :, :], (b.roll(-1, -2) - b)[..., None, :, :]
    turn = cross(edge, its_edge)
    is_parallel = turn.abs() <= INSIDE * (edge.norm(dim=-1) * its_edge.norm(dim=-1))
    safe = torch.where(is_parallel, torch.ones_like(turn), turn)
    along = cross(other - begin, its_edge) / safe
    its_place = cross(other - begin, edge) / safe
    on_both = (along >= 0) & (along <= 1) & (its_place >= 0) & (its_place <= 1)
    points = begin + along[..., None] * edge
    return points.flatten(-3, -2), (on_both & ~is_parallel).flatten(-2)


def intersection_of(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return the areas [n, k] that boxes [n, 5] and [k, 5] have in common."""
    first = corners_of(a)[:, None].expand(-1, len(b), -1, -1)
    second = corners_of(b)[None].expand(len(a), -1, -1, -1)
    crossed, are_crossed = crossings(first, second)
    points = torch.cat([first, second, crossed], -2)
    valid = torch.cat([lies_in(first, second), lies_in(second, first), are_crossed], -1)
    count = valid.sum(-1)
    middle = (points * valid[..., None]).sum(-2) / count.clamp_min(1)[..., None]
    points = points - middle[..., None, :]
    # Around the middle; those that do not count come last, and are the first one again.
    angle = torch.atan2(points[..., 1], points[..., 0]).masked_fill(~valid, torch.inf)
    order = angle.argsort(-1)
    around = points.gather(-2, order[..., None].expand_as(points))
    around = torch.where(valid.gather(-1, order)[..., None], around, around[..., :1, :])
    area = cross(around, around.roll(-1, -2)).sum(-1) / 2
    return torch.where(count >= TRIANGLE, area, torch.zeros_like(area))


def area_of(boxes: torch.Tensor) -> torch.Tensor:
    """Return areas."""
    return boxes[..., 2] * boxes[..., 3]


@legacy_kernel(
    "RotatedOverlaps", source="graphengine:third_party/fwkacllib/inc/ops/nn_detect_ops.h"
)
def rotated_overlaps(
    boxes: torch.Tensor, query_boxes: torch.Tensor, *, trans: bool = False
) -> torch.Tensor:
    """Answer the areas [b, n, k] that boxes [b, 5, n] and [b, 5, k] have in common."""
    pairs = zip(boxes.mT, query_boxes.mT, strict=True)
    areas = [
        intersection_of(center_of(one, has_corners=trans), center_of(other, has_corners=trans))
        for one, other in pairs
    ]
    return torch.stack(areas).to(boxes.dtype)


@legacy_kernel("RotatedIou", source="graphengine:third_party/fwkacllib/inc/ops/nn_detect_ops.h")
def rotated_iou(
    boxes: torch.Tensor,
    query_boxes: torch.Tensor,
    *,
    trans: bool = False,
    mode: str = "iou",
    is_cross: bool = True,
    value: float = 0.0,
) -> torch.Tensor:
    """Answer overlaps [b, n, k] by the union, or (iof, inferred) by the area of the first.

    `value` is what torch_npu calls both thresholds.
    """
    require_one_of("mode", mode, "iou", "iof")
    require_one_of("is_cross", int(is_cross), 1)
    require_one_of("v_threshold or e_threshold", value, 0.0)
    results = []
    for one, other in zip(boxes.mT, query_boxes.mT, strict=True):
        a, b = (center_of(each, has_corners=trans) for each in (one, other))
        area = intersection_of(a, b)
        own = area_of(a)[:, None]
        results.append(area / (own if mode == "iof" else own + area_of(b) - area))
    return torch.stack(results).nan_to_num(0).to(boxes.dtype)


@legacy_kernel("RotatedNMS", source="op-plugin:op_plugin/ops/aclops/NmsRotatedKernelNpu.cpp")
def rotated_nms(
    boxes: torch.Tensor,
    scores: torch.Tensor,
    labels: torch.Tensor,
    *,
    iou_threshold: float,
    score_threshold: float = 0.0,
    max_output_size: int = -1,
    mode: int = 0,
) -> Two:
    """Answer the boxes that no kept box of a higher score covers too much, best first."""
    del labels  # torch_npu gives one zero
    order = scores.argsort(descending=True, stable=True)
    order = order[scores[order] > score_threshold]
    chosen = center_of(boxes[order], has_corners=mode == 1)
    sizes = area_of(chosen)
    has_size = (sizes > 0)[:, None] & (sizes > 0)
    area = intersection_of(chosen, chosen)
    covers = has_size & (area / (sizes[:, None] + sizes - area) > iou_threshold)
    keep = torch.ones(len(order), dtype=torch.bool)
    for index in range(len(order)):
        if keep[index]:
            keep[index + 1 :] &= ~covers[index, index + 1 :]
    kept = order[keep][: max_output_size if max_output_size >= 0 else None]
    return widen(boxes)[kept], kept.to(torch.int32)
