"""A kernel that takes the parameters of an aclnn function, for the nodes of an operator type.

`Slot` says which input, attribute or output of the node each parameter is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opwright.aclnn.prototype import Literals, Prototype
    from opwright.aclnn.signature import Parameter
    from opwright.kit.derive.facts import OperatorFacts
    from opwright.twin.user_kernels.registry import Registration

__all__ = ["Served", "Slot"]


@dataclass(frozen=True, slots=True)
class Slot:
    """An argument for a parameter of the reference function.

    Parameters
    ----------
    name
        The input, attribute or output of the prototype; empty for a constant.
    of_dtype
        It gets the dtype of that input or output.
    """

    name: str
    of_dtype: bool = False
    constant: Literals | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """An operator type, and the kernel that serves it.

    Parameters
    ----------
    parameters, slots
        The parameters of the kernel, and the argument for each.
    facts
        Of an operator of the kit.
    leaves_out
        An output of which nobody says the shape is not wanted: the kernel gets null for it.
    """

    prototype: Prototype
    parameters: tuple[Parameter, ...]
    slots: tuple[Slot, ...]
    registration: Registration
    facts: OperatorFacts | None = None
    leaves_out: bool = False
