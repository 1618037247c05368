"""Sets of operators in a kernel file: their references are kernels too.

The twin knows such a set by one method alone, so that it stands below the kit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from opwright.aclnn.known import read_known_functions
from opwright.twin.toolkit import installed_toolkit

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

__all__ = ["DeclaresKernels", "declarations", "register_declared"]

METHOD = "__opwright_kernels__"


class DeclaresKernels(Protocol):
    """A set of operators whose references can stand in for kernels."""

    def __opwright_kernels__(self, has_function: Callable[[str], bool]) -> None:
        """Register the references of the aclnn functions that nothing else provides."""


def register_declared(module: ModuleType) -> None:
    """Register the references that a module declares; they stay, as kernels of a file do.

    Raises
    ------
    DuplicateKernelError
        OPW-K021.
    """
    for each in declarations(module):
        each.__opwright_kernels__(twin_has)


def declarations(module: ModuleType) -> list[DeclaresKernels]:
    """Return the sets of operators among the names of a module."""
    return [
        cast("DeclaresKernels", value)
        for value in vars(module).values()
        if hasattr(type(value), METHOD)
    ]


def twin_has(function: str) -> bool:
    """Return whether the twin implements an aclnn function itself."""
    if function not in read_known_functions():
        return False
    from opwright.twin.symbols import read_library  # noqa: PLC0415 - rarely needed

    library = read_library(installed_toolkit().libraries / "libopapi.so")
    return function in library.exported - library.refused
