"""How an operand lies in memory, by its description."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opwright.graph_engine.errors import KernelArgumentError
from opwright.graph_engine.tensors.layouts import FORMATS, LAYOUTS, PLAIN, find_layout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.graph_engine.tensors.layouts import Layout

__all__ = ["layout_of"]


def layout_of(given: Mapping[str, Any], *, where: str) -> Layout | None:
    """Return how a described operand lies in memory; None: in the order of its axes.

    Raises
    ------
    KernelArgumentError
        OPW-N003: a format that is not known, or a shape that is not the format's.
    """
    number = given.get("storage_format", given["format"])
    stored = tuple(given.get("storage_shape", given["shape"]))
    shape = tuple(given["shape"])
    if number in PLAIN or (number == given["format"] and number not in LAYOUTS):
        return None
    if number not in LAYOUTS:
        raise KernelArgumentError(
            where=where,
            got=f"the format {FORMATS.get(number, str(number))}",
            allowed=[*PLAIN.values(), *(FORMATS[each] for each in LAYOUTS)],
        )
    try:
        return find_layout(number, shape, stored)
    except ValueError as error:
        raise KernelArgumentError(where=where, got=str(error)) from error
