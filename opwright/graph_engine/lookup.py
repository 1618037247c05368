"""The kernel and the prototype of an operator type, from all places that may have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.graph_engine.calls.launched import find_launched_kernel
from opwright.graph_engine.prototypes.cann import of_torchair
from opwright.graph_engine.prototypes.loaded_libraries import find_loaded_prototype
from opwright.graph_engine.prototypes.packages import find_installed
from opwright.graph_engine.table import TABLE
from opwright.graph_engine.user_kernels.kernel import find_user_kernel
from opwright.graph_engine.user_kernels.types import (
    find_corresponding_prototype,
    find_declared_prototype,
)

if TYPE_CHECKING:
    from opwright.aclnn.prototype import Prototype
    from opwright.graph_engine.table import Kernel

__all__ = ["find_kernel", "find_prototype"]


def find_kernel(op_type: str) -> Kernel | None:
    """Return the kernel of an operator type: the engine's own, the user's, a loaded library's."""
    return TABLE.get(op_type) or find_user_kernel(op_type) or find_launched_kernel(op_type)


def find_prototype(op_type: str) -> Prototype | None:
    """Return the prototype of an operator type; None if nobody declares it.

    The user's own prototypes come first, then those of installed packages, CANN's, and those of
    loaded libraries. Last, a kernel that was declared by its C signature alone has the prototype
    that corresponds to it.

    Raises
    ------
    PrototypeError
        OPW-K002: a header of an installed package cannot be read.
    """
    return (
        find_declared_prototype(op_type)
        or find_installed(op_type)
        or of_torchair(op_type)
        or find_loaded_prototype(op_type)
        or find_corresponding_prototype(op_type)
    )
