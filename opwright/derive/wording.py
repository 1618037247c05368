"""What a failed check says, in every deliverable: expected between two texts, then what was got.

`before + expected + between + got` is the message; the values are known at the call only. Sizes of
several axes are written as `[2, 3]`, dtypes by their names without `torch.`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from opwright.declare.dims import RankCheck, SizeCheck, SpanCheck
from opwright.declare.rules import DtypeSet, SameDtype

if TYPE_CHECKING:
    from opwright.declare.dims import Check
    from opwright.declare.shape import Span

__all__ = ["Wording", "check_wording", "dtype_wording"]


@dataclass(frozen=True, slots=True)
class Wording:
    """The constant texts of a message.

    Examples
    --------
    >>> Wording("my_ops::f: axis 0 of 'x' must be ", " for 'N, D', got ").message("4", "3")
    "my_ops::f: axis 0 of 'x' must be 4 for 'N, D', got 3"
    """

    before: str
    between: str

    def message(self, expected: str, got: str) -> str:
        """Return the message."""
        return f"{self.before}{expected}{self.between}{got}"


def check_wording(operator: str, check: Check) -> Wording:
    """Return the texts of a check; `operator` is the name with its namespace.

    Examples
    --------
    >>> check = RankCheck(tensor="x", rank=2, at_least=True, pattern="*batch, N, D")
    >>> check_wording("my_ops::f", check).message("2", "1")
    "my_ops::f: 'x' must have at least 2 axes for '*batch, N, D', got 1"
    """
    between = f" for {check.pattern!r}, got "
    match check:
        case RankCheck(tensor=tensor, at_least=at_least):
            return Wording(
                f"{operator}: {tensor!r} must have {'at least ' if at_least else ''}",
                f" axes{between}",
            )
        case SizeCheck(tensor=tensor, axis=axis):
            return Wording(f"{operator}: axis {axis} of {tensor!r} must be ", between)
        case SpanCheck(span=span):
            return Wording(
                f"{operator}: axes {slice_text(span)} of {span.tensor!r} must be ", between
            )
        case _:
            assert_never(check)


def slice_text(span: Span) -> str:
    """Write the axes of a span as Python's slices."""
    return f"{span.start or ''}:{'' if span.stop is None else span.stop}"


def dtype_wording(operator: str, argument: str, rule: DtypeSet | SameDtype) -> Wording:
    """Return the texts of the check of an argument's dtype.

    For a set, what is expected is the names between commas; for another tensor, its dtype.
    """
    match rule:
        case DtypeSet():
            return Wording(f"{operator}: the dtype of {argument!r} must be ", ", got ")
        case SameDtype(tensor):
            return Wording(
                f"{operator}: the dtype of {argument!r} must be that of {tensor!r}, ", ", got "
            )
        case _:
            assert_never(rule)
