"""Failures of a run as they are reported: each fault once, with the columns that show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.check.finding import Finding
    from opwright.check.known.failures import Failure

__all__ = ["Fault", "faults"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault, and the failures that show it: the same in other columns of the row."""

    failures: tuple[Failure, ...]

    @property
    def first(self) -> Failure:
        """The failure that is reported."""
        return self.failures[0]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that show it."""
        return tuple(each.outcome.column for each in self.failures)


def faults(failures: Iterable[Failure]) -> list[Fault]:
    """Put failures together that differ in the column alone."""
    grouped: dict[object, list[Failure]] = {}
    for each in failures:
        outcome = each.outcome
        text = outcome.reason if each.finding is None else identify(each.finding)
        key = (outcome.operator, outcome.row, each.kind, text)
        grouped.setdefault(key, []).append(each)
    return [Fault(failures=tuple(group)) for group in grouped.values()]


def identify(finding: Finding) -> tuple[str, ...]:
    """Return the identity of a finding; repr, because a sample may hold NaN."""
    return (finding.expected, finding.got, finding.place, finding.fix, repr(finding.sample))
