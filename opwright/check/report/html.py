"""A run as one page: a matrix of operators and ways to run, whose cells open what is known of them.

The page needs nothing besides itself: no network, no server. What a run says (names, messages) is
text in it and never markup: the template escapes it, and the script only makes text of its data.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import jinja2
from markupsafe import Markup

from opwright.check.known.failures import is_passed, new_failures
from opwright.check.report.counts import ORDER, cells, choose_status, count_not_applicable
from opwright.check.report.faults import faults
from opwright.check.report.marks import BAD, MARKS
from opwright.check.report.source import find_raise, source_line
from opwright.check.samples.text import describe
from opwright.errors import write_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opwright.check.finding import Finding
    from opwright.check.outcome import Outcome
    from opwright.check.record import CheckedOperator, KnownFailure, Record
    from opwright.check.report.faults import Fault
    from opwright.check.report.source import SourceLine

__all__ = ["page_of"]

HERE = Path(__file__).parent
Key: TypeAlias = "tuple[str, str, str, str]"
Json: TypeAlias = Any
# Characters that a page shows instead of `F` and the like in a terminal.
SHOWN = {**MARKS, "passed": "✓", "failed": "✗", "not applicable": "\u2013"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell of the matrix; its number is None if it was not run."""

    row: str
    column: str
    is_first: bool
    number: int | None = None
    status: str = ""
    mark: str = ""
    css: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the matrix."""

    operator: CheckedOperator
    cells: tuple[Cell, ...]
    seconds: float


class Texts:
    """The texts of a page, each once: samples are the same in most rows."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a text."""
        return self.numbers.setdefault(text, len(self.numbers))


def page_of(record: Record, *, scripts: Mapping[Key, str] | None = None) -> str:
    """Return the page of a run.

    Parameters
    ----------
    scripts
        Failure -> the script that shows it alone.
    """
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string((HERE / "page.html").read_text(encoding="utf-8"))
    numbers = {key: number for number, key in enumerate(cells(record))}
    count = Counter(choose_status(record))
    return template.render(
        run=record,
        is_passed=is_passed(record),
        verdict=verdict(record),
        size=", ".join(
            write_count(len(given), what) or f"no {what}s"
            for given, what in ((record.operators, "operator"), (record.rows, "row"))
        ),
        statuses=[
            {"name": each, "css": css(each), "mark": SHOWN[each], "count": count[each]}
            for each in ORDER
            if count[each]
        ],
        lines=list(lines(record, numbers)),
        faults=[
            fault_of(each, numbers, scripts or {}, cause)
            for fault in faults(new_failures(record))
            for each, cause in ((fault, ""), *((e, fault.name) for e in fault.consequences))
        ],
        reasons=count_not_applicable(record),
        data=data_of(record, scripts or {}),
        # Our own file, which has no "</script".
        script=Markup((HERE / "page.js").read_text(encoding="utf-8")),  # noqa: S704
    )


def css(status: str) -> str:
    """Return the class of a status."""
    return {"out of memory": "memory", "not applicable": "inapplicable"}.get(status, status)


def verdict(record: Record) -> str:
    """Say in a few words what became of the run."""
    new = len(new_failures(record))
    parts = [
        write_count(new, "failure"),
        write_count(len(record.known), "known failure"),
        write_count(len(record.unexpected), "unexpected pass", "unexpected passes"),
    ]
    text = ", ".join(filter(None, parts))
    return text or "nothing was found"


def lines(record: Record, numbers: Mapping[tuple[str, str, str], int]) -> Iterator[Line]:
    """Yield the lines of the matrix."""
    shown = cells(record)
    for operator in record.operators:
        made = []
        seconds = 0.0
        for row in record.rows:
            for column in row.columns:
                key = (operator.name, row.name, column)
                cell = Cell(row=row.name, column=column, is_first=column == row.columns[0])
                if key in shown:
                    status, outcome = shown[key]
                    seconds += outcome.seconds
                    cell = Cell(
                        row=row.name,
                        column=column,
                        is_first=cell.is_first,
                        number=numbers[key],
                        status=status,
                        mark=SHOWN[status],
                        css=css(status),
                    )
                made.append(cell)
        yield Line(operator, tuple(made), seconds)


def fault_of(
    fault: Fault,
    numbers: Mapping[tuple[str, str, str], int],
    scripts: Mapping[Key, str],
    cause: str,
) -> dict[str, Json]:
    """Return what the page says of a fault.

    Parameters
    ----------
    cause
        Row and kind of the fault that it follows from; "" if it is one of its own.
    """
    operator, row, _, kind = fault.first.key
    columns = [(each.outcome.column, numbers[each.key[:3]]) for each in fault.failures]
    script = next((scripts[each.key] for each in fault.failures if each.key in scripts), "")
    finding = fault.first.finding
    common = {
        "operator": operator,
        "row": row,
        "kind": kind,
        "columns": columns,
        "cell": columns[0][1],
    }
    if finding is None:
        facts = pairs([("reason", fault.first.outcome.reason), ("follows from", cause)])
        more = pairs([("repro", script)])
        return common | {"title": "", "facts": facts, "places": [], "more": more}
    sample = "" if finding.sample is None else describe(finding.sample)
    return common | {
        "title": finding.kind.title,
        "facts": pairs([("sample", sample), ("expected", finding.expected), ("got", finding.got)]),
        "places": places(finding),
        "more": pairs([("fix", finding.fix), ("repro", script), ("follows from", cause)]),
    }


def pairs(given: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs whose text is not empty."""
    return [(label, text) for label, text in given if text]


def places(finding: Finding) -> list[tuple[str, SourceLine]]:
    """Return the places of a finding with their lines."""
    raised = find_raise(finding.trace)
    found = [("at", source_line(finding.place))]
    return found if raised is None else [*found, ("raised at", source_line(raised))]


def data_of(record: Record, scripts: Mapping[Key, str]) -> dict[str, Json]:
    """Return what the page's script shows: cells by their number."""
    texts = Texts()
    operators = {each.name: number for number, each in enumerate(record.operators)}
    rows = {each.name: number for number, each in enumerate(record.rows)}
    known = {(each.operator, each.row, each.column, each.kind): each for each in record.known}
    found = [
        cell_of(outcome, status, texts, known, scripts)
        | {"operator": operators[outcome.operator], "row": rows[outcome.row]}
        for status, outcome in cells(record).values()
    ]
    return {
        "operators": [
            {"name": each.name, "schema": each.schema, "place": each.place}
            for each in record.operators
        ],
        "rows": [{"name": each.name, "title": each.title} for each in record.rows],
        "marks": {each: {"mark": SHOWN[each], "css": css(each)} for each in ORDER},
        "bad": [each for each in BAD if each != "known"],
        "cells": found,
        "texts": list(texts.numbers),
    }


def cell_of(
    outcome: Outcome,
    status: str,
    texts: Texts,
    known: Mapping[Key, KnownFailure],
    scripts: Mapping[Key, str],
) -> dict[str, Json]:
    """Return what the page's script shows of a cell."""
    at = (outcome.operator, outcome.row, outcome.column)
    return {
        "column": outcome.column,
        "status": status,
        "reason": texts.number(outcome.reason),
        "seconds": round(outcome.seconds, 4),
        "calls": outcome.calls,
        "samples": [texts.number(each) for each in outcome.samples],
        "findings": [
            finding_of(each, known.get((*at, each.kind.name)), scripts.get((*at, each.kind.name)))
            for each in outcome.findings
        ],
        "details": [
            [texts.number(name), texts.number(text)] for name, text in outcome.details.items()
        ],
    }


def finding_of(finding: Finding, known: KnownFailure | None, script: str | None) -> dict[str, Json]:
    """Return what the page's script shows of a finding."""
    return {
        "kind": finding.kind.name,
        "title": finding.kind.title,
        "known": "" if known is None else " ".join(filter(None, [known.reason, known.issue])),
        "sample": "" if finding.sample is None else describe(finding.sample),
        "expected": finding.expected,
        "got": finding.got,
        "places": [
            [label, {"place": line.place, "number": line.number, "text": line.text}]
            for label, line in places(finding)
        ],
        "fix": finding.fix,
        "repro": script or "",
        "script": "\n".join(finding.script),
        "trace": finding.trace,
    }
