"""A declaration as a kernel file: the references of its operators stand in for aclnn functions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from opwright.aclnn.known import known_functions
from opwright.twin.toolkit import installed_toolkit

if TYPE_CHECKING:
    from types import ModuleType

    from opwright.declare.operator_set import OperatorSet

__all__ = ["operator_sets", "register_declared"]


def register_declared(module: ModuleType) -> None:
    """Register the references of the operator sets of a module.

    Raises
    ------
    DuplicateKernelError
        OPW-K021.
    """
    sets = operator_sets(module)
    if sets:
        from opwright.derive import derive  # noqa: PLC0415 - only where there are declarations
        from opwright.live.twin import register_references  # noqa: PLC0415 - imports torch

        for each in sets:
            for _ in register_references(derive(each.freeze()), twin_has):
                pass  # they stay registered, as those of any kernel file


def operator_sets(module: ModuleType) -> list[OperatorSet]:
    """Return the operator sets of a module."""
    # A file with kernels alone has not imported it, and need not.
    declare = sys.modules.get("opwright.declare.operator_set")
    if declare is None:
        return []
    return [each for each in vars(module).values() if isinstance(each, declare.OperatorSet)]


def twin_has(function: str) -> bool:
    """Return whether the twin implements an aclnn function itself."""
    if function not in known_functions():
        return False
    from opwright.twin.coverage.symbols import read_library  # noqa: PLC0415 - rarely needed

    library = read_library(installed_toolkit().libraries / "libopapi.so")
    return function in library.exported - library.refused
