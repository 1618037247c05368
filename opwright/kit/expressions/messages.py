"""Messages of failed checks: one wording for the live tier, native kernels and emitted C++.

A sentence is given as the fixed texts around its values. Behind the operator's name and a colon it
is the first text, the first value, the second text, and so on; the last text may be empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from typing_extensions import assert_never

from opwright.kit.expressions.conditions import (
    MemberCheck,
    RankCheck,
    SizeCheck,
    SpanCheck,
    ValueCheck,
)

if TYPE_CHECKING:
    from opwright.kit.expressions.conditions import Check

__all__ = ["Texts", "dtype_texts", "sentence", "texts_of_check"]

Texts: TypeAlias = tuple[str, ...]


def dtype_texts(argument: str) -> Texts:
    """Return the texts for a wrong dtype: around the dtype, and those that are allowed.

    Dtypes have the names of C++, with commas between them.
    """
    return (f"argument '{argument}' has dtype ", "; allowed: [", "]")


def texts_of_check(check: Check) -> Texts:
    """Return the texts of a check.

    Around the number of axes, the size or sizes and the wanted ones, the two values that are
    compared, or the value that is none of a set.
    """
    text = check.pattern
    match check:
        case RankCheck(tensor=tensor, rank=rank, at_least=at_least):
            least = "at least " if at_least else ""
            return (f"argument '{tensor}' has ", f" axes; it needs {least}{rank}, as in '{text}'")
        case SizeCheck(tensor=tensor, axis=axis):
            return (f"axis {axis} of argument '{tensor}' has size ", f"; '{text}' asks for ", "")
        case SpanCheck(span=span):
            return (f"argument '{span.tensor}' has axes ", f"; '{text}' asks for ", "")
        case ValueCheck():
            return (f"'{text}' does not hold: ", " and ", "")
        case MemberCheck(argument=argument, values=values):
            allowed = ", ".join(map(render, values))
            return (f"argument '{argument}' is ", f"; '{text}' allows {allowed}")
        case _:
            assert_never(check)


def sentence(operator: str, texts: Texts, *values: object) -> str:
    """Return the sentence.

    >>> sentence("ns::f", ("argument 'p' is ", "; 'p in (0.5, 1.0)' allows 0.5, 1"), 2.0)
    "ns::f: argument 'p' is 2; 'p in (0.5, 1.0)' allows 0.5, 1"
    """
    first, *rest = texts
    pairs = zip(values, rest, strict=True)
    return f"{operator}: {first}" + "".join(render(value) + text for value, text in pairs)


def render(value: object) -> str:
    """Return a value as C++ streams write it: floats have six digits."""
    return f"{value:g}" if isinstance(value, float) else str(value)
