"""Conditions on the arguments of a call, as data: ranks, sizes and values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from typing_extensions import assert_never

from opwright.kit.expressions import shape

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Check",
    "Comparison",
    "Condition",
    "Flag",
    "MemberCheck",
    "RankCheck",
    "SizeCheck",
    "SpanCheck",
    "ValueCheck",
    "arguments_of_check",
    "constants_of_size",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCheck:
    """A tensor has this number of axes, or at least this number.

    Parameters
    ----------
    pattern
        The author's text, for messages.
    """

    tensor: str
    rank: int
    at_least: bool
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeCheck:
    """An axis of a tensor has this size."""

    tensor: str
    axis: int
    size: shape.Size
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanCheck:
    """Several axes of a tensor have the sizes of those of another one."""

    span: shape.Span
    other: shape.Span
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueCheck:
    """A comparison of two values holds."""

    left: shape.Size
    comparison: Comparison
    right: shape.Size
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberCheck:
    """An argument that is no tensor has one of these values; None passes if it is optional."""

    argument: str
    values: tuple[int | float | str, ...]
    pattern: str


Comparison: TypeAlias = Literal["<", "<=", ">", ">=", "==", "!="]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A bool argument, or an element of a list of them, has a value; no call has to keep to it.

    Parameters
    ----------
    index
        Of the element; None for an argument that is one bool.
    """

    argument: str
    wanted: bool
    index: int | None = None


Check: TypeAlias = RankCheck | SizeCheck | SpanCheck | ValueCheck | MemberCheck


# When something is so.
Condition: TypeAlias = Check | Flag


def arguments_of_check(check: Check) -> set[str]:
    """Return the arguments that a check is about; it holds where one of them is not given."""
    match check:
        case RankCheck(tensor=tensor):
            return {tensor}
        case SizeCheck(tensor=tensor, size=expected):
            return {tensor} | arguments_of_size(expected)
        case SpanCheck(span=span, other=other):
            return {span.tensor, other.tensor}
        case ValueCheck(left=left, right=right):
            return arguments_of_size(left) | arguments_of_size(right)
        case MemberCheck(argument=argument):
            return {argument}
        case _:
            assert_never(check)


def arguments_of_size(value: shape.Size) -> set[str]:
    """Return the arguments that a size is computed from.

    >>> sorted(arguments_of_size(shape.Binary("//", shape.Dim("x", -1), shape.Argument("k"))))
    ['k', 'x']
    """
    match value:
        case shape.Const():
            return set()
        case shape.Dim(name) | shape.Rank(name) | shape.Argument(name):
            return {name}
        case shape.Length(name) | shape.Element(name):
            return {name}
        case shape.Binary(_, left, right):
            return arguments_of_size(left) | arguments_of_size(right)
        case _:
            assert_never(value)


def constants_of_size(value: shape.Size) -> Iterator[int | float]:
    """Yield the numbers in an expression.

    >>> list(constants_of_size(shape.Binary("//", shape.Dim("x", -1), shape.Const(8))))
    [8]
    """
    if isinstance(value, shape.Const):
        yield value.value
    if isinstance(value, shape.Binary):
        yield from constants_of_size(value.left)
        yield from constants_of_size(value.right)
