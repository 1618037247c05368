"""Findings and rules."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from opwright.lint.definitions import Place
    from opwright.lint.libraries import Project

__all__ = ["Finding", "Problem", "Rule", "Severity"]


class Severity(Enum):
    """How bad it is; the values are those of SARIF."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A report of a rule: where, of which operator, and what is wrong there."""

    place: Place
    operator: str
    message: str
    related: tuple[tuple[Place, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule.

    Parameters
    ----------
    id
        Its name on the command line, in suppressions and in reports.
    title
        What it finds, in a few words.
    why
        What happens to a program with this fault.
    fix
        How to mend it.
    """

    id: str
    severity: Severity
    title: str
    why: str
    fix: str
    run: Callable[[Project], Iterable[Problem]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A problem with its rule."""

    rule: Rule
    problem: Problem

    @property
    def order(self) -> tuple[str, int, int, str, str]:
        """Return what findings are sorted by: file, line, column, rule, operator."""
        place = self.problem.place
        return place.file, place.line, place.column, self.rule.id, self.problem.message
