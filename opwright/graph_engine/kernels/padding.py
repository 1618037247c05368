"""Operators that put a margin around a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.graph_engine.table import kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Margin = tuple[int, int]


def margins(x: torch.Tensor, paddings: Sequence[int], *, contiguous: bool) -> list[Margin]:
    """Return before and after of each axis; not contiguous: all that is before comes first."""
    if len(paddings) != 2 * x.dim():
        message = f"{len(paddings)} paddings for {x.dim()} axes"
        raise ValueError(message)
    if contiguous:
        return list(zip(paddings[::2], paddings[1::2], strict=True))
    return list(zip(paddings[: x.dim()], paddings[x.dim() :], strict=True))


def pad_with_constant(
    x: torch.Tensor, sizes: Sequence[Margin], value: torch.Tensor
) -> torch.Tensor:
    """Put a value around; a negative margin cuts."""
    for axis, (before, after) in enumerate(sizes):
        start, stop = max(-before, 0), x.shape[axis] - max(-after, 0)
        if (start, stop) != (0, x.shape[axis]):
            x = x.narrow(axis, start, stop - start)
        shape = list(x.shape)
        parts = [x]
        if before > 0:
            parts.insert(0, value.expand([*shape[:axis], before, *shape[axis + 1 :]]))
        if after > 0:
            parts.append(value.expand([*shape[:axis], after, *shape[axis + 1 :]]))
        x = torch.cat(parts, axis) if len(parts) > 1 else x
    return x


def pad_reflected(place: torch.Tensor, size: int) -> torch.Tensor:
    """Mirror at the outermost elements."""
    return (size - 1) - ((size - 1) - place.abs()).abs()


def pad_symmetric(place: torch.Tensor, size: int) -> torch.Tensor:
    """Mirror at the edges, so that the outermost elements come twice."""
    place = torch.where(place < 0, -1 - place, place)
    return torch.where(place >= size, 2 * size - 1 - place, place)


def pad_nearest(place: torch.Tensor, size: int) -> torch.Tensor:
    """Repeat the outermost elements."""
    return place.clamp(0, size - 1)


# Where an element of the margin comes from: place before and behind the axis -> place on it.
ORIGINS: dict[str, Callable[[torch.Tensor, int], torch.Tensor]] = {
    "edge": pad_nearest,
    "reflect": pad_reflected,
    "symmetric": pad_symmetric,
}
REACH = {"reflect": -1, "symmetric": 0}  # how much wider than the axis a margin can be


def origins(size: int, margin: Margin, mode: str, device: torch.device) -> torch.Tensor:
    """Return the place that each element along an axis comes from."""
    if mode not in ORIGINS:
        message = f"mode '{mode}' is not available; available are constant, {', '.join(ORIGINS)}"
        raise NotImplementedError(message)
    if mode in REACH and max(margin) > size + REACH[mode]:
        message = f"a margin of {max(margin)} is too wide for mode '{mode}' and an axis of {size}"
        raise ValueError(message)
    return ORIGINS[mode](torch.arange(-margin[0], size + margin[1], device=device), size)


def from_inside(x: torch.Tensor, sizes: Sequence[Margin], mode: str) -> torch.Tensor:
    """Put copies of elements around."""
    for axis, margin in enumerate(sizes):
        if any(margin):
            places = origins(x.shape[axis], margin, mode, x.device)
            x = x.index_select(axis, places)
    return x


def put_margin(
    x: torch.Tensor, sizes: Sequence[Margin], mode: str, value: torch.Tensor | None
) -> torch.Tensor:
    """Put a margin around."""
    if mode != "constant":
        return from_inside(x, sizes, mode)
    filling = x.new_zeros(()) if value is None else value.to(x.dtype).reshape(())
    return pad_with_constant(x, sizes, filling)


@kernel("Pad", source="ops-math:conversion/pad/op_graph/pad_proto.h")
def pad(x: torch.Tensor, paddings: list[int]) -> torch.Tensor:
    """Put zeros around."""
    return put_margin(x, margins(x, paddings, contiguous=True), "constant", None)


@kernel("PadV2", source="ops-math:conversion/pad_v2/op_graph/pad_v2_proto.h")
def pad_v2(x: torch.Tensor, paddings: list[int], constant_values: torch.Tensor) -> torch.Tensor:
    """Put a value around."""
    return put_margin(x, margins(x, paddings, contiguous=True), "constant", constant_values)


@kernel("PadV3", source="ops-math:conversion/pad_v3/op_graph/pad_v3_proto.h")
def pad_v3(
    x: torch.Tensor,
    paddings: list[int],
    constant_values: torch.Tensor | None = None,
    *,
    mode: str = "constant",
    paddings_contiguous: bool = True,
) -> torch.Tensor:
    """Put a value or copies of elements around."""
    return put_margin(
        x, margins(x, paddings, contiguous=paddings_contiguous), mode, constant_values
    )


@kernel("MirrorPad", source="ops-math:conversion/mirror_pad/op_graph/mirror_pad_proto.h")
def mirror_pad(x: torch.Tensor, paddings: list[int], *, mode: str) -> torch.Tensor:
    """Mirror elements around."""
    return from_inside(x, margins(x, paddings, contiguous=True), mode.lower())


@kernel("PadV3Grad", source="ops-math:conversion/pad_v3_grad/op_graph/pad_v3_grad_proto.h")
def pad_v3_grad(
    x: torch.Tensor,
    paddings: list[int],
    *,
    mode: str = "reflect",
    paddings_contiguous: bool = True,
) -> torch.Tensor:
    """Add the gradients of the margin to those of the elements it was copied from."""
    for axis, margin in enumerate(margins(x, paddings, contiguous=paddings_contiguous)):
        if any(margin):
            shape = list(x.shape)
            shape[axis] -= sum(margin)
            places = origins(shape[axis], margin, mode, x.device)
            x = x.new_zeros(shape).index_add(axis, places, x)
    return x
