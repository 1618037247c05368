"""The rows of the matrix, one module each (docs/contributing/check.md adds one).

A row that one file cannot hold is a package, whose `__init__` has the row's text and ROW.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.check.rows import (
    aliasing,
    autocast,
    bounds,
    compiled,
    concurrency,
    converter,
    cost,
    determinism,
    devices,
    edges,
    errors,
    export,
    functionalization,
    gradients,
    graph_breaks,
    layouts,
    leaks,
    meta,
    mutation,
    numerics,
    order,
    registration,
    relations,
    schema,
    serialization,
    state,
    symbolic,
    vmap,
)

if TYPE_CHECKING:
    from opwright.check.row import Row

__all__ = ["ROWS", "row"]

# In the order in which they run and are shown: what others build on comes first.
ROWS: tuple[Row, ...] = (
    schema.ROW,
    registration.ROW,
    numerics.ROW,
    state.ROW,
    layouts.ROW,
    relations.ROW,
    edges.ROW,
    devices.ROW,
    mutation.ROW,
    aliasing.ROW,
    meta.ROW,
    symbolic.ROW,
    functionalization.ROW,
    compiled.ROW,
    export.ROW,
    graph_breaks.ROW,
    determinism.ROW,
    vmap.ROW,
    autocast.ROW,
    serialization.ROW,
    errors.ROW,
    bounds.ROW,
    leaks.ROW,
    order.ROW,
    concurrency.ROW,
    cost.ROW,
    gradients.ROW,
    converter.ROW,
)


def row(name: str) -> Row:
    """Return the row of this name."""
    return next(each for each in ROWS if each.name == name)
