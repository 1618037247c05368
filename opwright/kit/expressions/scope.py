"""Names that a rule may use: the operator's arguments, and the dimensions that they bind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.kit.declare.schema import Argument
    from opwright.kit.expressions.shape import Size, Span

__all__ = ["Scope"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Names that a rule may use.

    Parameters
    ----------
    arguments
        The operator's arguments by name.
    names
        Dimensions that are bound by tensors that are always there.
    ranks
        For each tensor with a pattern the number of its axes; None if it is open.
    is_list
        Whether the rule is for a list of results: `i` is a place in it.
    """

    arguments: Mapping[str, Argument]
    names: Mapping[str, Size | Span] = field(default_factory=dict)
    ranks: Mapping[str, int | None] = field(default_factory=dict)
    is_list: bool = False
