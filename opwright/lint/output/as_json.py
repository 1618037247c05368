"""A report for programs: JSON of opwright's own form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opwright.lint.definitions import Place
    from opwright.lint.linting import Report

__all__ = ["as_json"]

VERSION = 1


def as_json(report: Report) -> str:
    """Return the report as JSON."""
    return json.dumps(as_data(report), indent=2, ensure_ascii=False) + "\n"


def as_data(report: Report) -> dict[str, Any]:
    """Return the report as plain data."""
    return {
        "version": VERSION,
        "files": report.files,
        "read": dict(report.counts),
        "per_rule": report.per_rule(),
        "findings": [
            {
                "rule": each.rule.id,
                "severity": each.rule.severity.value,
                **place_data(each.problem.place),
                "operator": each.problem.operator,
                "message": each.problem.message,
                "why": each.rule.why,
                "fix": each.rule.fix,
                "related": [
                    {**place_data(place), "message": text} for place, text in each.problem.related
                ],
            }
            for each in report.findings
        ],
        "silenced": [
            {"rule": each.rule.id, **place_data(each.problem.place)} for each in report.silenced
        ],
        "unread": [{**place_data(place), "message": text} for place, text in report.unread],
        "skipped": [{"path": name, "why": why} for name, why in report.skipped],
    }


def place_data(place: Place) -> dict[str, Any]:
    """Return a place as plain data."""
    return {"file": place.file, "line": place.line, "column": place.column}
