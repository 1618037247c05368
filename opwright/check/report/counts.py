"""How many cells of a run are what."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from opwright.check.known.failures import failures

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.check.known.failures import Failure
    from opwright.check.outcome import Outcome
    from opwright.check.record import Record

__all__ = ["ORDER", "cells", "choose_status", "count_blocked", "count_not_applicable"]

# Kinds of failures that keep other rows from calling the operator.
BLOCKING = ("raises", "raises-for-view", "raises-at-edge", "crashed", "hung", "out-of-memory")
# The worst first; `known` is a failed cell of which the ledger has all.
ORDER = (
    "crashed",
    "hung",
    "out of memory",
    "error",
    "failed",
    "known",
    "blocked",
    "passed",
    "not applicable",
)


def cells(record: Record) -> dict[tuple[str, str, str], tuple[str, Outcome]]:
    """Return operator, row, column -> what is shown of the cell, and its outcome."""
    return {
        (each.operator, each.row, each.column): (shown, each)
        for each, shown in zip(record.outcomes, choose_status(record), strict=True)
    }


def choose_status(record: Record) -> list[str]:
    """Return one of ORDER for each outcome."""
    known = {(each.operator, each.row, each.column, each.kind) for each in record.known}
    fails = failures(record.outcomes)
    new = {id(each.outcome) for each in fails if each.key not in known}
    old = {id(each.outcome) for each in fails} - new
    return ["known" if id(each) in old else each.status for each in record.outcomes]


def count_not_applicable(record: Record) -> list[tuple[str, list[str], int]]:
    """Return reasons for which cells do not apply: the reason, its rows, how many cells."""
    rows: dict[str, list[str]] = {}
    count: Counter[str] = Counter()
    for each in record.outcomes:
        if each.status == "not applicable":
            count[each.reason] += 1
            named = rows.setdefault(each.reason, [])
            if each.row not in named:
                named.append(each.row)
    return [(reason, rows[reason], number) for reason, number in count.most_common()]


def count_blocked(record: Record) -> list[tuple[str, str, list[str], int]]:
    """Return what blocks cells of an operator: the reason, who reports it, rows, how many cells.

    The first failure of the operator that is an exception or the end of a process reports it, as
    row/kind; if there is none that is "", and the cells are failures themselves.
    """
    rows: dict[tuple[str, str], list[str]] = {}
    count: Counter[tuple[str, str]] = Counter()
    for each in record.outcomes:
        if each.status == "blocked":
            key = (each.operator, each.reason)
            count[key] += 1
            named = rows.setdefault(key, [])
            if each.row not in named:
                named.append(each.row)
    fails = failures(record.outcomes)
    return [
        (reason, find_blocking(operator, fails), rows[operator, reason], number)
        for (operator, reason), number in count.items()
    ]


def find_blocking(operator: str, fails: Iterable[Failure]) -> str:
    """Return row and kind of the failure that blocks the other rows of an operator."""
    names = [
        f"{each.outcome.row}/{each.kind}"
        for each in fails
        if each.outcome.operator == operator and each.kind in BLOCKING
    ]
    return next(iter(names), "")
