"""A report as SARIF 2.1.0 (OASIS), which code hosts show beside the lines."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from opwright import __version__

if TYPE_CHECKING:
    from opwright.lint.definitions import Place
    from opwright.lint.finding import Finding, Rule, Severity
    from opwright.lint.linting import Report

__all__ = ["as_sarif"]

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def as_sarif(report: Report) -> str:
    """Return the report as SARIF."""
    return json.dumps(as_data(report), indent=2, ensure_ascii=False) + "\n"


def as_data(report: Report) -> dict[str, Any]:
    """Return the log with its one run."""
    order = {each.id: index for index, each in enumerate(report.rules)}
    results = [result(each, order) for each in report.findings]
    results += [
        {**result(each, order), "suppressions": [{"kind": "inSource"}]} for each in report.silenced
    ]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "opwright lint",
                        "semanticVersion": __version__,
                        "rules": [rule(each) for each in report.rules],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": True,
                        "toolExecutionNotifications": [
                            {
                                "level": "note",
                                "message": {"text": text},
                                "locations": [location(place)],
                            }
                            for place, text in report.unread
                        ],
                    }
                ],
                "results": results,
            }
        ],
    }


def rule(each: Rule) -> dict[str, Any]:
    """Return the description of a rule."""
    return {
        "id": each.id,
        "shortDescription": {"text": each.title},
        "fullDescription": {"text": each.why},
        "help": {"text": each.fix},
        "defaultConfiguration": {"level": convert_severity(each.severity)},
    }


def convert_severity(severity: Severity) -> str:
    """Return SARIF's word for a severity."""
    return severity.value


def result(finding: Finding, order: dict[str, int]) -> dict[str, Any]:
    """Return a finding."""
    problem = finding.problem
    # The same finding keeps its fingerprint when lines move.
    marked = repr((finding.rule.id, problem.place.file, problem.operator, problem.message))
    made: dict[str, Any] = {
        "ruleId": finding.rule.id,
        "ruleIndex": order[finding.rule.id],
        "level": convert_severity(finding.rule.severity),
        "message": {"text": f"{problem.message}. Fix: {finding.rule.fix}"},
        "locations": [location(problem.place)],
        "partialFingerprints": {"opwright/v1": hashlib.sha256(marked.encode()).hexdigest()[:32]},
    }
    if problem.related:
        made["relatedLocations"] = [
            {**location(place), "message": {"text": text}} for place, text in problem.related
        ]
    return made


def location(place: Place) -> dict[str, Any]:
    """Return a place."""
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri(place.file)},
            "region": {"startLine": place.line, "startColumn": place.column},
        }
    }


def uri(file: str) -> str:
    """Return a path as URI: absolute ones with a scheme."""
    quoted = quote(file, errors="replace")
    return f"file://{quoted}" if file.startswith("/") else quoted
