"""Boxes of detectors: codes, overlaps, and which of them are kept.

The formulas are those of torch_npu's documentation of the `npu_*` functions, and of the papers that
it names (Faster R-CNN, GIoU, DIoU, CIoU, RoIAlign).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from opwright.graph_engine.graph.model import Node
from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.legacy.kernels.gradient import gradients
from opwright.graph_engine.legacy.kernels.table import legacy_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

Two = tuple[torch.Tensor, torch.Tensor]
Three = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
Sides = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]

ZEROS_4 = (0.0, 0.0, 0.0, 0.0)
ONES_4 = (1.0, 1.0, 1.0, 1.0)
YOLO_MARGIN = 1e-6  # what a centre keeps from the edges of its cell; the least ratio of sizes


def center(boxes: torch.Tensor) -> Sides:
    """Return centre, width and height; both corners belong to a box."""
    x1, y1, x2, y2 = boxes.unbind(-1)
    return (x1 + x2) * 0.5, (y1 + y2) * 0.5, x2 - x1 + 1, y2 - y1 + 1


@legacy_kernel(
    "BoundingBoxEncode",
    source="ops-cv:objdetect/bounding_box_encode/op_graph/bounding_box_encode_proto.h",
)
def bounding_box_encode(
    anchor_box: torch.Tensor,
    ground_truth_box: torch.Tensor,
    *,
    means: list[float] = ZEROS_4,  # type: ignore[assignment]
    stds: list[float] = ONES_4,  # type: ignore[assignment]
) -> torch.Tensor:
    """Move and scale from anchors to boxes."""
    px, py, pw, ph = center(widen(anchor_box))
    gx, gy, gw, gh = center(widen(ground_truth_box))
    deltas = ((gx - px) / pw, (gy - py) / ph, (gw / pw).log(), (gh / ph).log())
    return (torch.stack(deltas, -1) - torch.tensor(means)) / torch.tensor(stds)


@legacy_kernel(
    "BoundingBoxDecode", source="graphengine:third_party/fwkacllib/inc/ops/nn_detect_ops.h"
)
def bounding_box_decode(
    rois: torch.Tensor,
    deltas: torch.Tensor,
    *,
    means: list[float] = ZEROS_4,  # type: ignore[assignment]
    stds: list[float] = ONES_4,  # type: ignore[assignment]
    max_shape: list[int],
    wh_ratio_clip: float = 0.016,
) -> torch.Tensor:
    """Undo BoundingBoxEncode, within an image of [height, width]."""
    moved = widen(deltas) * torch.tensor(stds) + torch.tensor(means)
    dx, dy, dw, dh = moved.unbind(-1)
    px, py, pw, ph = center(widen(rois))
    most = abs(math.log(wh_ratio_clip))
    width, height = pw * dw.clamp(-most, most).exp(), ph * dh.clamp(-most, most).exp()
    gx, gy = px + pw * dx, py + ph * dy
    rows, columns = max_shape[0] - 1, max_shape[1] - 1
    corners = (
        (gx - width * 0.5 + 0.5).clamp(0, columns),
        (gy - height * 0.5 + 0.5).clamp(0, rows),
        (gx + width * 0.5 - 0.5).clamp(0, columns),
        (gy + height * 0.5 - 0.5).clamp(0, rows),
    )
    return torch.stack(corners, -1).to(rois.dtype)


@legacy_kernel("YoloBoxesEncode", source="ops-cv:common/inc/op_graph/op_cv_proto_extend.h")
def yolo_boxes_encode(
    anchor_boxes: torch.Tensor,
    gt_bboxes: torch.Tensor,
    stride: torch.Tensor,
    *,
    performance_mode: str = "high_precision",
) -> torch.Tensor:
    """Move within a cell of the grid, and scale, from anchors to boxes."""
    # The CPU has one precision for both.
    require_one_of("performance_mode", performance_mode, "high_precision", "high_performance")
    anchors, boxes = (widen(each).reshape(-1, 2, 2) for each in (anchor_boxes, gt_bboxes))
    shift = (boxes.mean(1) - anchors.mean(1)) / stride.unsqueeze(1) + 0.5
    ratio = (boxes[:, 1] - boxes[:, 0]) / (anchors[:, 1] - anchors[:, 0])
    coded = (shift.clamp(YOLO_MARGIN, 1 - YOLO_MARGIN), ratio.clamp_min(YOLO_MARGIN).log())
    return torch.cat(coded, 1).to(gt_bboxes.dtype)


def sides(boxes: torch.Tensor, *, trans: bool) -> Sides:
    """Return left, top, right and bottom of boxes [4, n]; `trans`: they are centre and size."""
    first, second, third, fourth = widen(boxes)
    if not trans:
        return first, second, third, fourth
    return first - third / 2, second - fourth / 2, first + third / 2, second + fourth / 2


def pair_up(first: Sides, second: Sides, *, is_cross: bool) -> tuple[Sides, Sides]:
    """Return operands for each pair: of the same place, or all."""
    if not is_cross:
        return first, second
    rows = tuple(each.unsqueeze(0) for each in first)
    columns = tuple(each.unsqueeze(1) for each in second)
    return rows, columns  # type: ignore[return-value]


def overlap_of(a: Sides, b: Sides) -> tuple[torch.Tensor, torch.Tensor]:
    """Return intersection and union."""
    width = (torch.minimum(a[2], b[2]) - torch.maximum(a[0], b[0])).clamp_min(0)
    height = (torch.minimum(a[3], b[3]) - torch.maximum(a[1], b[1])).clamp_min(0)
    intersection = width * height
    areas = [(s[2] - s[0]) * (s[3] - s[1]) for s in (a, b)]
    return intersection, areas[0] + areas[1] - intersection


def enclose(a: Sides, b: Sides) -> tuple[torch.Tensor, torch.Tensor]:
    """Return width and height of the smallest box around two."""
    width = torch.maximum(a[2], b[2]) - torch.minimum(a[0], b[0])
    return width, torch.maximum(a[3], b[3]) - torch.minimum(a[1], b[1])


def compute_giou(a: Sides, b: Sides) -> torch.Tensor:
    """Return GIoU."""
    intersection, union = overlap_of(a, b)
    width, height = enclose(a, b)
    hull = width * height
    return intersection / union - (hull - union) / hull


def by_distance(a: Sides, b: Sides) -> torch.Tensor:
    """Return DIoU."""
    intersection, union = overlap_of(a, b)
    width, height = enclose(a, b)
    across = (a[0] + a[2] - b[0] - b[2]).square() + (a[1] + a[3] - b[1] - b[3]).square()
    return intersection / union - across / 4 / (width.square() + height.square())


def angle_of(a: Sides, b: Sides) -> torch.Tensor:
    """Return the difference of the angles of diagonals."""
    first, second = (torch.atan((s[2] - s[0]) / (s[3] - s[1])) for s in (b, a))
    return first - second


def complete(a: Sides, b: Sides) -> torch.Tensor:
    """Return CIoU; its weight has no gradient."""
    intersection, union = overlap_of(a, b)
    v = 4 / math.pi**2 * angle_of(a, b).square()
    weight = (v / (1 - intersection / union + v)).detach()
    return by_distance(a, b) - weight * v


def measure_pairs(
    formula: Callable[[Sides, Sides], torch.Tensor],
    boxes: torch.Tensor,
    others: torch.Tensor,
    *,
    trans: bool,
    is_cross: bool,
) -> torch.Tensor:
    """Return a measure of pairs."""
    pair = pair_up(sides(boxes, trans=trans), sides(others, trans=trans), is_cross=is_cross)
    return formula(*pair).to(boxes.dtype)


def differentiate_measure(
    formula: Callable[[Sides, Sides], torch.Tensor],
    dy: torch.Tensor,
    boxes: torch.Tensor,
    others: torch.Tensor,
    *,
    trans: bool,
    is_cross: bool,
) -> Two:
    """Return the gradients of a measure of pairs by both boxes."""

    def forward(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        found = measure_pairs(formula, first, second, trans=trans, is_cross=is_cross)
        return found.reshape(dy.shape)

    first, second = gradients(forward, [boxes, others], dy)
    return first, second


def define_measure(
    name: str,
    formula: Callable[[Sides, Sides], torch.Tensor],
    *,
    source: str,
    gradient_source: str,
) -> None:
    """Make the kernels of a measure of pairs and of its gradients."""

    @legacy_kernel(name, source=source)
    def measure(
        bboxes: torch.Tensor,
        gtboxes: torch.Tensor,
        *,
        trans: bool = False,
        is_cross: bool = True,
        mode: str = "iou",
    ) -> torch.Tensor:
        require_one_of("mode", mode, "iou")
        return measure_pairs(formula, bboxes, gtboxes, trans=trans, is_cross=is_cross)

    @legacy_kernel(f"{name}Grad", source=gradient_source)
    def measure_gradients(
        dy: torch.Tensor,
        bboxes: torch.Tensor,
        gtboxes: torch.Tensor,
        *,
        trans: bool = False,
        is_cross: bool = True,
        mode: str = "iou",
    ) -> Two:
        require_one_of("mode", mode, "iou")
        return differentiate_measure(formula, dy, bboxes, gtboxes, trans=trans, is_cross=is_cross)


# Overlap, less what the smallest box around both leaves free.
define_measure(
    "GIoU",
    compute_giou,
    source="torch_npu:_op_plugin_docs.py:npu_giou",
    gradient_source="ops-cv:objdetect/g_io_u_grad/op_graph/g_io_u_grad_proto.h",
)
# Overlap, less the distance of the centres.
define_measure(
    "DIoU",
    by_distance,
    source="torch_npu:_op_plugin_docs.py:npu_diou",
    gradient_source="ops-cv:objdetect/d_io_u_grad/op_graph/d_io_u_grad_proto.h",
)


@legacy_kernel("CIoU", source="ops-cv:objdetect/ciou/docs/aclnnCIoU.md")
def ciou(
    bboxes: torch.Tensor,
    gtboxes: torch.Tensor,
    *,
    trans: bool = False,
    is_cross: bool = True,
    mode: str = "iou",
    atan_sub_flag: bool = False,
) -> Two:
    """DIoU, less a difference of the ratios of sides; and the difference of their angles."""
    del atan_sub_flag
    require_one_of("mode", mode, "iou")
    angle = measure_pairs(angle_of, bboxes, gtboxes, trans=trans, is_cross=is_cross)
    return measure_pairs(complete, bboxes, gtboxes, trans=trans, is_cross=is_cross), angle


@legacy_kernel("CIoUGrad", source="inferred")
def ciou_grad(
    dy: torch.Tensor,
    bboxes: torch.Tensor,
    gtboxes: torch.Tensor,
    atan_sub: torch.Tensor,
    *,
    trans: bool = False,
    is_cross: bool = True,
    mode: str = "iou",
) -> Two:
    """Gradients of CIoU."""
    del atan_sub
    require_one_of("mode", mode, "iou")
    return differentiate_measure(complete, dy, bboxes, gtboxes, trans=trans, is_cross=is_cross)


@legacy_kernel("Iou", source="graphengine:third_party/fwkacllib/inc/ops/nn_detect_ops.h")
def iou(
    bboxes: torch.Tensor,
    gtboxes: torch.Tensor,
    *,
    mode: str = "iou",
    eps: float = 1.0,
    aligned: bool = False,
) -> torch.Tensor:
    """Overlap of all pairs, by the union or (iof) by the area of the second.

    In areas each side counts as eps longer, as the values in torch_npu's documentation show.
    """
    if aligned or mode not in ("iou", "iof"):
        message = f"mode '{mode}' with aligned={aligned} is not available"
        raise NotImplementedError(message)
    first, second = (sides(widen(each).t(), trans=False) for each in (bboxes, gtboxes))
    a, b = pair_up(first, second, is_cross=True)
    intersection, _ = overlap_of(a, b)
    own, area = ((each[2] - each[0] + eps) * (each[3] - each[1] + eps) for each in (a, b))
    divisor = own + area - intersection if mode == "iou" else area.expand_as(intersection)
    return (intersection / divisor).to(bboxes.dtype)


def suppress(boxes: torch.Tensor, threshold: float) -> torch.Tensor:
    """Return which boxes are kept: those that no kept box before them covers too much."""
    left, top, right, bottom = boxes.unbind(-1)
    corners = (left, top, right, bottom)
    intersection, union = overlap_of(*pair_up(corners, corners, is_cross=True))
    covers = (intersection / union) > threshold
    keep = torch.ones(len(boxes), dtype=torch.bool)
    for index in range(len(boxes)):
        if keep[index]:
            keep[index + 1 :] &= ~covers[index, index + 1 :]
    return keep


@legacy_kernel("NMSWithMask", source="ops-cv:image/nms_with_mask/op_graph/nms_with_mask_proto.h")
def nms_with_mask(box_scores: torch.Tensor, *, iou_threshold: float = 0.5) -> Three:
    """Answer boxes with their scores, their places, and which of them are kept, in order."""
    keep = suppress(widen(box_scores[:, :4]), iou_threshold)
    return box_scores[:, :5], torch.arange(len(keep), dtype=torch.int32), keep.to(torch.uint8)


@legacy_kernel(
    "NonMaxSuppressionV4", source="graphengine:third_party/fwkacllib/inc/ops/image_ops.h"
)
def non_max_suppression_v4(
    boxes: torch.Tensor,
    scores: torch.Tensor,
    max_output_size: int,
    iou_threshold: torch.Tensor,
    score_threshold: torch.Tensor,
    *,
    pad_to_max_output_size: bool = False,
    node: Node,
) -> Two:
    """Answer the places of the boxes that are kept, best first, and how many they are."""
    del pad_to_max_output_size
    order = scores.argsort(descending=True, stable=True)
    order = order[scores[order] > score_threshold.flatten()[0]]
    x1, y1, x2, y2 = widen(boxes)[order].unbind(-1)
    corners = [torch.minimum(x1, x2), torch.minimum(y1, y2), torch.maximum(x1, x2)]
    keep = suppress(
        torch.stack([*corners, torch.maximum(y1, y2)], -1), float(iou_threshold.flatten()[0])
    )
    chosen = order[keep][:max_output_size].to(torch.int32)
    size = (node.outputs[0].shape or (max_output_size,))[0]
    padded = torch.nn.functional.pad(chosen, (0, size - len(chosen)))
    return padded, torch.tensor(len(chosen), dtype=torch.int32)


@legacy_kernel(
    "AnchorResponseFlags",
    source="ops-cv:objdetect/anchor_response_flags/op_graph/anchor_response_flags_proto.h",
)
def anchor_response_flags(
    gt_bboxes: torch.Tensor,
    *,
    featmap_size: list[int],
    strides: list[int],
    num_base_anchors: int,
) -> torch.Tensor:
    """Mark the cells of a grid in which boxes have their centres, once for each base anchor."""
    height, width = featmap_size
    column = ((gt_bboxes[:, 0] + gt_bboxes[:, 2]) * 0.5 / strides[0]).floor().clamp(0, width - 1)
    row = ((gt_bboxes[:, 1] + gt_bboxes[:, 3]) * 0.5 / strides[1]).floor().clamp(0, height - 1)
    flags = torch.zeros(height * width, dtype=torch.uint8)
    flags[row.int().long() * width + column.int().long()] = 1
    return flags.repeat_interleave(num_base_anchors)


@legacy_kernel("SignBitsPack", source="ops-math:math/sign_bits_pack/docs/aclnnSignBitsPack.md")
def sign_bits_pack(x: torch.Tensor, *, size: int) -> torch.Tensor:
    """Pack eight signs into a byte, the first in the lowest bit; what is missing is -1."""
    bits = torch.nn.functional.pad((x >= 0).int(), (0, -x.numel() % 8)).reshape(-1, 8)
    return (bits << torch.arange(8)).sum(-1).to(torch.uint8).reshape(size, -1)


@legacy_kernel(
    "SignBitsUnpack", source="ops-math:math/sign_bits_unpack/docs/aclnnSignBitsUnpack.md"
)
def sign_bits_unpack(x: torch.Tensor, *, size: int, dtype: int = 0) -> torch.Tensor:
    """Undo SignBitsPack."""
    del dtype  # the output's
    bits = (x.int().unsqueeze(-1) >> torch.arange(8)) & 1
    return (bits * 2.0 - 1).reshape(size, -1)
