"""A report for people: a line per finding, what else belongs to it below, a count at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.lint.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.lint.linting import Report

__all__ = ["as_text", "rules_as_text", "statistics_as_text"]

MOST_RELATED = 3
MOST_UNREAD = 10


def as_text(report: Report, *, verbose: bool = False) -> str:
    """Return the report as text."""
    return "\n".join(lines(report, verbose=verbose)) + "\n"


def lines(report: Report, *, verbose: bool) -> Iterator[str]:
    """Yield the lines of a report."""
    shown = set()
    for each in report.findings:
        problem = each.problem
        yield f"{problem.place}: {each.rule.severity.value}: {problem.message} [{each.rule.id}]"
        for place, text in problem.related[:MOST_RELATED]:
            yield f"    {place}: {text}"
        if len(problem.related) > MOST_RELATED:
            yield f"    and {len(problem.related) - MOST_RELATED} more"
        if each.rule.id not in shown:
            shown.add(each.rule.id)
            yield f"    fix: {each.rule.fix}"
    if report.findings:
        yield ""
    limit = len(report.unread) if verbose else MOST_UNREAD
    if report.unread:
        yield f"read in part only ({len(report.unread)}):"
        for place, text in report.unread[:limit]:
            yield f"    {place}: {text}"
        if len(report.unread) > limit:
            yield f"    and {len(report.unread) - limit} more (--verbose shows all)"
    if report.skipped and verbose:
        yield f"not read ({len(report.skipped)}):"
        for name, why in report.skipped:
            yield f"    {name}: {why}"
    yield summary(report)


def summary(report: Report) -> str:
    """Return the last line."""
    counts = {
        severity: sum(each.rule.severity is severity for each in report.findings)
        for severity in Severity
    }
    parts = [f"{counts[each]} {each.value}{'s' * (counts[each] != 1)}" for each in Severity]
    tail = f", {len(report.silenced)} silenced" if report.silenced else ""
    skipped = f", {len(report.skipped)} folders or files left out" if report.skipped else ""
    return f"{', '.join(parts)}{tail} in {report.files} files{skipped}"


def statistics_as_text(report: Report) -> str:
    """Return what was read, and the findings per rule."""
    width = max((len(each.id) for each in report.rules), default=0)
    found = [f"{name:{width}} {count:6}" for name, count in report.counts.items()]
    found.append("")
    found += [f"{name:{width}} {count:6}" for name, count in report.per_rule().items()]
    return "\n".join(found) + "\n"


def rules_as_text(rules: object) -> str:
    """Return the table of rules."""
    given = list(rules)  # type: ignore[call-overload]
    width = max(len(each.id) for each in given)
    return "".join(f"{each.id:{width}}  {each.severity.value:7}  {each.title}\n" for each in given)
