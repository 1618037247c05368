"""A run as text: what fails and how to mend it, then a table of operators and rows, and counts.

The text carries styles, which a console shows only on a terminal.
"""

from __future__ import annotations

import textwrap
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from rich.text import Text

from opwright.check.known.failures import new_failures
from opwright.check.report.counts import (
    ORDER,
    cells,
    choose_status,
    count_blocked,
    count_not_applicable,
)
from opwright.check.report.faults import faults
from opwright.check.report.marks import BAD, MARKS
from opwright.check.report.source import escape_controls, find_raise, source_line
from opwright.check.samples.text import describe
from opwright.errors import write_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from opwright.check.finding import Finding
    from opwright.check.known.failures import Failure
    from opwright.check.record import Record
    from opwright.check.report.faults import Fault

__all__ = ["WIDTH", "failures_text", "record_text"]

WIDTH = 100
LABEL = 13  # columns for `expected:` and the like
STYLES = {
    "crashed": "bold red",
    "hung": "bold red",
    "out of memory": "bold red",
    "error": "bold magenta",
    "failed": "bold red",
    "known": "yellow",
    "blocked": "magenta",
    "passed": "green",
    "not applicable": "dim",
}


def record_text(
    record: Record,
    *,
    scripts: Mapping[tuple[str, str, str, str], str] | None = None,
    width: int = WIDTH,
) -> Text:
    """Return the text of a run.

    Parameters
    ----------
    scripts
        Failure -> the script that shows it alone.
    width
        Where long lines are broken, in characters.
    """
    new = new_failures(record)
    parts = [
        *([failures_text(new, scripts=scripts, width=width)] if new else []),
        *([render_unexpected(record)] if record.unexpected else []),
        *([render_known(record)] if record.known else []),
        *([table(record)] if new or record.known else []),
        summary(record, width=width),
    ]
    return Text("\n\n").join(parts)


def failures_text(
    failures: Iterable[Failure],
    *,
    scripts: Mapping[tuple[str, str, str, str], str] | None = None,
    width: int = WIDTH,
) -> Text:
    """Return the text of failures."""
    return Text("\n\n").join(
        Text("\n").join(fault_lines(each, scripts=scripts or {}, width=width))
        for each in faults(failures)
    )


def fault_lines(
    fault: Fault, *, scripts: Mapping[tuple[str, str, str, str], str], width: int
) -> Iterator[Text]:
    """Yield the lines of one fault."""
    failure = fault.first
    outcome = failure.outcome
    columns = ", ".join(fault.columns)
    yield Text.assemble(
        (escape_controls(outcome.operator), "bold"),
        f"  {outcome.row} [{columns}]  ",
        (failure.kind, STYLES["failed"]),
    )
    if failure.finding is None:
        yield from label_text("", describe_failure_end(failure), width=width)
    else:
        yield from label_text("", failure.finding.kind.title, width=width)
        yield from finding_lines(failure.finding, width=width)
    script = next((scripts[each.key] for each in fault.failures if each.key in scripts), None)
    if script is not None:
        yield from label_text("repro", script, width=width)
    if fault.consequences:
        text = "\n".join(map(describe_consequence, fault.consequences))
        yield from label_text("follows", text, width=width)


def describe_consequence(fault: Fault) -> str:
    """Say where a fault shows as well: its row and kind, the columns, and what is wrong."""
    finding = fault.first.finding
    said = describe_failure_end(fault.first) if finding is None else finding.kind.title
    return f"{fault.name} [{', '.join(fault.columns)}]: {said.partition(chr(10))[0]}"


def describe_failure_end(failure: Failure) -> str:
    """Say how a cell ended that did not come to its end."""
    status = failure.outcome.status
    said = {
        "error": "a fault of opwright itself; please report it",
        "blocked": "it cannot be examined",
        "crashed": "the process ended",
        "hung": "the process did not come to an end in time",
        "out of memory": "the process needed too much memory",
    }
    return f"{said[status]}\n{failure.outcome.reason}".rstrip()


def finding_lines(finding: Finding, *, width: int) -> Iterator[Text]:
    """Yield what a finding says."""
    if finding.sample is not None:
        yield from label_text("sample", describe(finding.sample), width=width)
    yield from label_text("expected", finding.expected, width=width)
    yield from label_text("got", finding.got, width=width)
    yield from place_lines("at", finding.place)
    raised = find_raise(finding.trace)
    if raised is not None:
        yield from place_lines("raised at", raised)
    yield from label_text("fix", finding.fix, width=width)


def place_lines(label: str, place: str) -> Iterator[Text]:
    """Yield a place and the line that stands there."""
    line = source_line(place)
    yield from label_text(label, line.place, width=0)
    if line.text.strip():
        yield Text(f"{'':{LABEL}}{line.number} | {line.text}", style="cyan")


def label_text(label: str, text: str, *, width: int) -> Iterator[Text]:
    """Yield a text behind its label, broken at the width; 0 leaves its lines as they are."""
    name = f"{label}:" if label else ""
    first = f"  {name:{LABEL - 2}}" if label else "  "
    rest = " " * len(first)  # of the lines behind the first
    lines = [
        part
        for line in escape_controls(text).splitlines() or [""]
        for part in wrap(line, width - len(first) if width else 0)
    ]
    for number, line in enumerate(lines):
        indent = rest if number else first
        yield Text.assemble((indent, "dim"), line)


def wrap(line: str, width: int) -> list[str]:
    """Break a line between words; what is indented, as a traceback, stays as it is."""
    if not width or len(line) <= width or line.startswith(" "):
        return [line]
    return textwrap.wrap(line, max(width, 20), break_long_words=False, break_on_hyphens=False)


def render_unexpected(record: Record) -> Text:
    """Return what is out of date in the ledger."""
    head = Text("unexpected passes: remove these entries from the ledger", style="bold red")
    return Text("\n").join([head, *(Text(f"  {escape_controls(e)}") for e in record.unexpected)])


def render_known(record: Record) -> Text:
    """Return the known failures and their reasons."""
    lines = [Text("known failures", style="bold")]
    for each in record.known:
        issue = "" if each.issue is None else f" ({each.issue})"
        text = f"  {each.operator} {each.row}/{each.kind} [{each.column}]: {each.reason}{issue}"
        lines.append(Text(escape_controls(text)))
    return Text("\n").join(lines)


def table(record: Record) -> Text:
    """Return a line per operator that has not passed, with a mark per row: its worst column."""
    shown = {key: status for key, (status, _) in cells(record).items()}
    of: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for (operator, row, _), status in shown.items():
        of[operator, row].append(status)
    rows = [each.name for each in record.rows]
    names = list(dict.fromkeys(each.operator for each in record.outcomes))
    bad_names = [name for (name, _), statuses in of.items() if set(statuses) & set(BAD)]
    length = min(max(map(len, bad_names), default=0), 48)
    used = [status for status in ORDER if status in shown.values()]
    legend = [Text.assemble((MARKS[each], STYLES[each]), f" {each}") for each in used]
    lines = [Text("operators x rows: ", style="bold") + Text("  ").join(legend)]
    for name in names:
        statuses = {row: find_worst(of[name, row]) for row in rows}
        line = Text.assemble(f"  {escape_controls(name):{length}}  ")
        for status in statuses.values():
            line.append(MARKS.get(status, " "), STYLES.get(status))
        bad = [row for row, status in statuses.items() if status in BAD]
        if bad:
            lines.append(line.append(f"  {', '.join(bad)}"))
    sound = len(names) + 1 - len(lines)
    if sound:
        lines.append(Text(f"  {write_count(sound, 'operator')} with nothing of this"))
    return Text("\n").join(lines)


def find_worst(statuses: Iterable[str]) -> str:
    """Return the worst of statuses; nothing for none."""
    return min(statuses, key=ORDER.index, default="")


def summary(record: Record, *, width: int) -> Text:
    """Return the counts, what blocks cells, and why others do not apply."""
    count = Counter(choose_status(record))
    operators = len({each.operator for each in record.outcomes})
    parts: Sequence[Text] = [
        Text(f"{count[status]} {status}", style=STYLES[status]) for status in ORDER if count[status]
    ]
    head = Text.assemble(
        f"{write_count(operators, 'operator') or 'no operators'}, ",
        f"{write_count(len(record.rows), 'row') or 'no rows'}: ",
        Text(", ").join(parts),
        f" in {record.seconds:.1f} s",
    )
    lines = [head]
    for reason, blocking, rows, number in count_blocked(record):
        by = f" by {blocking}" if blocking else ""
        text = f"blocked{by}, {write_count(number, 'cell')} of {', '.join(rows)}: {reason}"
        lines += list(label_text("", text, width=width))
    for reason, rows, number in count_not_applicable(record):
        text = f"not applicable, {write_count(number, 'cell')} of {', '.join(rows)}: {reason}"
        lines += list(label_text("", text, width=width))
    return Text("\n").join(lines)
