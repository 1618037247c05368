"""The failures of a run: findings, cells that ended otherwise, and which of them are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.check.finding import Finding
    from opwright.check.outcome import Outcome
    from opwright.check.record import Record

__all__ = ["ENDINGS", "Failure", "failures", "is_passed", "kind_of_status", "new_failures"]

# Endings that a ledger writes as row/kind for a cell without a finding.
ENDINGS = ("crashed", "hung", "out-of-memory", "error", "blocked")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A reason for which a run fails.

    Parameters
    ----------
    kind
        The kind of the finding, or one of ENDINGS.
    finding
        None for a cell that did not come to its end.
    """

    outcome: Outcome
    kind: str
    finding: Finding | None = None

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Operator, row, column and kind."""
        return (self.outcome.operator, self.outcome.row, self.outcome.column, self.kind)


def kind_of_status(status: str) -> str:
    """Return how a ledger names a status.

    >>> kind_of_status("out of memory")
    'out-of-memory'
    """
    return status.replace(" ", "-")


def failures(outcomes: Iterable[Outcome]) -> list[Failure]:
    """Return all that fails a run.

    A blocked cell is one only where nothing else of the operator fails: as a rule, another row
    reports what blocks it.
    """
    given = list(outcomes)
    found = [each for outcome in given for each in of_cell(outcome) if outcome.status != "blocked"]
    failing = {each.outcome.operator for each in found}
    return found + [
        Failure(outcome=outcome, kind="blocked")
        for outcome in given
        if outcome.status == "blocked" and outcome.operator not in failing
    ]


def of_cell(outcome: Outcome) -> list[Failure]:
    """Return what fails in a cell."""
    found = [
        Failure(outcome=outcome, kind=finding.kind.name, finding=finding)
        for finding in outcome.findings
    ]
    kind = kind_of_status(outcome.status)
    if kind not in ENDINGS or any(each.kind == kind for each in found):
        return found  # a finding may report what ended a cell
    return [*found, Failure(outcome=outcome, kind=kind)]


def new_failures(record: Record) -> list[Failure]:
    """Return the failures of a run that its ledger does not have."""
    known = {(each.operator, each.row, each.column, each.kind) for each in record.known}
    return [each for each in failures(record.outcomes) if each.key not in known]


def is_passed(record: Record) -> bool:
    """Return whether a run passed: no new failures, and no entry of the ledger for what passes."""
    return not new_failures(record) and not record.unexpected
