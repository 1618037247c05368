"""A record: a whole run of the matrix as data, from the operators and rows to each outcome.

`session` makes it when the run is over. Reports, scripts and the exit code follow from it alone,
and JSON holds all of it; so it has `CheckedOperator` and not `Subject`, which needs torch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from opwright.check.outcome import Outcome
    from opwright.check.row import Row
    from opwright.check.subject import Subject

__all__ = [
    "CheckedOperator",
    "CheckedRow",
    "KnownFailure",
    "Record",
    "list_checked_operators",
    "rows_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRow:
    """A row that was run.

    Parameters
    ----------
    title
        What must hold.
    kinds
        Those of its findings.
    process
        The kind of its process; see `opwright.check.processes.kinds`.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    process: str = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedOperator:
    """An operator that was checked: its name with namespace, its schema, where it is declared."""

    name: str
    schema: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure:
    """A failure that the ledger has.

    Parameters
    ----------
    kind
        The kind of the finding; the status of a cell that has none.
    reason, issue
        What the ledger says of it.
    """

    operator: str
    row: str
    column: str
    kind: str
    reason: str
    issue: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A run of the matrix that is over.

    Parameters
    ----------
    target
        What was checked, as the user named it.
    versions
        Versions of what took part, by name.
    seed
        Of the samples.
    seconds
        Wall-clock time of the whole.
    known
        The failures among the outcomes that the ledger has; they do not fail the run.
    unexpected
        What is wrong with the ledger: entries for what passes now, each a text with its line.
    """

    target: str
    versions: Mapping[str, str]
    seed: int
    seconds: float
    operators: tuple[CheckedOperator, ...]
    rows: tuple[CheckedRow, ...]
    outcomes: tuple[Outcome, ...]
    known: tuple[KnownFailure, ...] = ()
    unexpected: tuple[str, ...] = field(default=())


def rows_of(rows: Iterable[Row]) -> tuple[CheckedRow, ...]:
    """Return the rows for a report."""
    return tuple(
        CheckedRow(
            name=each.name,
            title=each.title,
            columns=each.columns,
            kinds=tuple(kind.name for kind in each.kinds),
            process=each.process,
        )
        for each in rows
    )


def list_checked_operators(subjects: Iterable[Subject]) -> tuple[CheckedOperator, ...]:
    """Return the operators for a report."""
    return tuple(
        CheckedOperator(name=each.name, schema=str(each.schema), place=each.place)
        for each in subjects
    )
