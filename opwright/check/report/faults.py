"""Failures of a run as they are reported: each fault once, with the columns that show it.

The consequences of a fault of the same operator stand beneath it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from opwright.check.report.causes import CAUSES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.check.finding import Finding
    from opwright.check.known.failures import Failure

__all__ = ["Fault", "faults"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault.

    Parameters
    ----------
    failures
        They show it, each in another column of the row.
    consequences
        Faults of the operator that follow from it.
    """

    failures: tuple[Failure, ...]
    consequences: tuple[Fault, ...] = ()

    @property
    def first(self) -> Failure:
        """The failure that is reported."""
        return self.failures[0]

    @property
    def name(self) -> str:
        """Row and kind."""
        return f"{self.first.outcome.row}/{self.first.kind}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that show it."""
        return tuple(each.outcome.column for each in self.failures)


def faults(failures: Iterable[Failure]) -> list[Fault]:
    """Put failures together that differ in the column alone, and consequences beneath causes."""
    grouped: dict[object, list[Failure]] = {}
    for each in failures:
        outcome = each.outcome
        text = outcome.reason if each.finding is None else identify(each.finding)
        key = (outcome.operator, outcome.row, each.kind, text)
        grouped.setdefault(key, []).append(each)
    found = [Fault(failures=tuple(group)) for group in grouped.values()]
    causes = [find_cause(each, found) for each in found]
    return [
        replace(
            each,
            consequences=tuple(
                other for other, cause in zip(found, causes, strict=True) if cause is each
            ),
        )
        for each, cause in zip(found, causes, strict=True)
        if cause is None
    ]


def find_cause(fault: Fault, among: Iterable[Fault]) -> Fault | None:
    """Return the fault of the same operator that a fault follows from at last; None if of none."""
    operator = fault.first.outcome.operator
    of_operator = [each for each in among if each.first.outcome.operator == operator]
    current, seen = fault, {fault.name}
    while True:
        cause = next(
            (
                each
                for name, consequences in CAUSES.items()
                if current.name in consequences
                for each in of_operator
                if each.name == name and name not in seen
            ),
            None,
        )
        if cause is None:
            return None if current is fault else current
        seen.add(cause.name)
        current = cause


def identify(finding: Finding) -> tuple[str, ...]:
    """Return the identity of a finding; repr, because a sample may hold NaN."""
    return (finding.expected, finding.got, finding.place, finding.fix, repr(finding.sample))
