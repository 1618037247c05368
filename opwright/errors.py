"""The root of every error that opwright reports to a person, and the form of its text.

A subclass states what does not depend on the case: the stable identifier, the title, and the usual
fix. The case itself (where, what was got, what is allowed) is given when it is raised.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "DiagnosticsError",
    "OpwrightError",
    "clip",
    "first_of",
    "sort_nearest_first",
    "write_count",
]


class OpwrightError(Exception):
    """An error with an identifier, a place, the value got, the allowed values and a fix.

    Parameters
    ----------
    where
        The place in the user's terms: an option, a file and line, an operator.
    got
        The value or state that was found, in the form in which the user wrote it.
    allowed
        What would be accepted; empty if that cannot be listed.
    near
        The name that may be misspelt: what is allowed is sorted, what resembles it first.
    fix
        What to do, if it depends on the case; otherwise the class has it.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    usual_fix: ClassVar[str]

    def __init__(
        self,
        *,
        where: str,
        got: str,
        allowed: Iterable[str] = (),
        near: str | None = None,
        fix: str | None = None,
    ) -> None:
        self.where = where
        self.got = got
        self.allowed = tuple(allowed) if near is None else sort_nearest_first(near, allowed)
        self.fix = fix or self.usual_fix
        super().__init__(where, got, self.allowed, self.fix)

    def __str__(self) -> str:
        lines = [f"{self.id} {self.title}", f"  where:   {self.where}", f"  got:     {self.got}"]
        if self.allowed:
            lines.append(f"  allowed: {', '.join(self.allowed)}")
        return "\n".join([*lines, f"  fix:     {self.fix}"])


class DiagnosticsError(OpwrightError):
    """Several errors that were found together, so that all can be mended at once.

    Parameters
    ----------
    where
        What was looked at.
    errors
        What has to be mended, in the order of the source.
    warnings
        What was found besides.
    """

    usual_fix = "mend each of them"

    def __init__(
        self, *, where: str, errors: Iterable[OpwrightError], warnings: Iterable[OpwrightError] = ()
    ) -> None:
        self.errors = tuple(errors)
        self.warnings = tuple(warnings)
        counts = [
            write_count(len(self.errors), "error"),
            write_count(len(self.warnings), "warning"),
        ]
        super().__init__(where=where, got=" and ".join(count for count in counts if count))

    def __str__(self) -> str:
        warnings = [f"warning {warning}" for warning in self.warnings]
        return "\n\n".join([super().__str__(), *map(str, self.errors), *warnings])


def write_count(number: int, what: str, plural: str | None = None) -> str:
    """Write a number of things; nothing for none.

    >>> write_count(2, "error"), write_count(2, "launch", "launches")
    ('2 errors', '2 launches')
    """
    many = plural or f"{what}s"
    return f"{number} {what if number == 1 else many}" if number else ""


def clip(text: str, most: int) -> str:
    """Return a text, or its first characters.

    >>> clip("aclnnAdd(const aclTensor *self)", most=8)
    'aclnnAdd…'
    """
    return text if len(text) <= most else f"{text[:most]}…"


def first_of(names: Sequence[str], most: int) -> list[str]:
    """Return the first names of a long list, and how many follow.

    >>> first_of(["a", "b", "c", "d"], most=2)
    ['a', 'b', 'and 2 more']
    """
    rest = len(names) - most
    return [*names[:most], *([f"and {rest} more"] if rest > 0 else [])]


def sort_nearest_first(value: str, allowed: Iterable[str]) -> tuple[str, ...]:
    """Sort the allowed values, those that resemble the value first.

    >>> sort_nearest_first("Ascend910B5", ["Ascend310P3", "Ascend910A", "Ascend910B4"])
    ('Ascend910B4', 'Ascend910A', 'Ascend310P3')
    """
    rest = sorted(allowed)
    folded = {name.casefold(): name for name in rest}
    close = difflib.get_close_matches(value.casefold(), folded, n=3, cutoff=0.7)
    near = [folded[name] for name in close]
    return tuple(near + [name for name in rest if name not in near])
