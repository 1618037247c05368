"""Kernels that legacy operators have beside the graph engine's, or in place of them.

They are of the same form (opwright/graph_engine/table.py), but run on real tensors: they may look
at values, and answer shapes that depend on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from opwright.graph_engine.table import Kernel, describe

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LEGACY", "legacy_kernel"]

Function = TypeVar("Function", bound="Callable[..., object]")

LEGACY: dict[str, Kernel] = {}


def legacy_kernel(*names: str, source: str) -> Callable[[Function], Function]:
    """Make a function the kernel of legacy operators of the types `names`.

    Parameters
    ----------
    source
        As for `kernel` of opwright/graph_engine/table.py.
    """

    def register(function: Function) -> Function:
        entry = describe(function, source=source, of_shapes=False)
        for name in names:
            if name in LEGACY:
                message = f"the operator type {name} has a kernel for legacy operators already"
                raise ValueError(message)
            LEGACY[name] = entry
        return function

    return register
