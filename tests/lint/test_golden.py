"""The reports on a small project with sound and broken operators, in each form.

OPWRIGHT_ACCEPT=1 writes the golden files anew; the difference is what a reviewer reads.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from opwright.lint.linting import Report, lint
from opwright.lint.output.as_json import as_json
from opwright.lint.output.as_sarif import as_sarif
from opwright.lint.output.as_text import as_text, statistics_as_text

CORPUS = Path(__file__).parent / "corpus"
# Properties that the schema of OASIS requires, of the objects that a report has.
REQUIRED = {
    "log": {"version", "runs"},
    "run": {"tool"},
    "driver": {"name"},
    "rule": {"id"},
    "result": {"message"},
    "invocation": {"executionSuccessful"},
    "notification": {"message"},
}
LEVELS = {"none", "note", "warning", "error"}


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> Report:
    monkeypatch.chdir(CORPUS)
    return lint([Path("csrc"), Path("python"), Path("config")])


def accepted(name: str, found: str) -> str:
    file = CORPUS / "golden" / name
    if os.environ.get("OPWRIGHT_ACCEPT"):
        file.write_text(found, encoding="utf-8")
    return file.read_text(encoding="utf-8")


def without_version(text: str) -> str:
    data = json.loads(text)
    data["runs"][0]["tool"]["driver"]["semanticVersion"] = "VERSION"
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def test_text_is_as_accepted(report: Report) -> None:
    found = as_text(report, verbose=True) + statistics_as_text(report)
    assert found == accepted("report.txt", found)


def test_json_is_as_accepted(report: Report) -> None:
    found = as_json(report)
    assert found == accepted("report.json", found)


def test_sarif_is_as_accepted(report: Report) -> None:
    found = without_version(as_sarif(report))
    assert found == accepted("report.sarif", found)


def test_the_order_of_paths_changes_nothing(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CORPUS)
    other = lint([Path("config"), Path("python"), Path("csrc"), Path("csrc/kernels.cpp")])
    assert as_json(other) == as_json(report)


def test_sarif_has_what_its_schema_requires(report: Report) -> None:
    log: dict[str, Any] = json.loads(as_sarif(report))
    assert log.keys() >= REQUIRED["log"]
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    assert run.keys() >= REQUIRED["run"]
    driver = run["tool"]["driver"]
    assert driver.keys() >= REQUIRED["driver"]
    rules = driver["rules"]
    assert len({each["id"] for each in rules}) == len(rules)
    for each in rules:
        assert each.keys() >= REQUIRED["rule"]
        assert each["defaultConfiguration"]["level"] in LEVELS
        assert each["shortDescription"]["text"]
    assert run["columnKind"] in {"utf16CodeUnits", "unicodeCodePoints"}
    for invocation in run["invocations"]:
        assert invocation.keys() >= REQUIRED["invocation"]
        for each in invocation["toolExecutionNotifications"]:
            assert each.keys() >= REQUIRED["notification"]
    assert len(run["results"]) == len(report.findings) + len(report.silenced)
    for each in run["results"]:
        assert each.keys() >= REQUIRED["result"]
        assert each["level"] in LEVELS
        assert rules[each["ruleIndex"]]["id"] == each["ruleId"]
        for place in (*each["locations"], *each.get("relatedLocations", ())):
            physical = place["physicalLocation"]
            assert (CORPUS / physical["artifactLocation"]["uri"]).is_file()
            lines = (CORPUS / physical["artifactLocation"]["uri"]).read_text().splitlines()
            region = physical["region"]
            assert 1 <= region["startLine"] <= len(lines)
            assert 1 <= region["startColumn"] <= len(lines[region["startLine"] - 1]) + 1


def test_silenced_findings_are_marked_in_sarif(report: Report) -> None:
    log = json.loads(as_sarif(report))
    marked = [each for each in log["runs"][0]["results"] if "suppressions" in each]
    assert [each["ruleId"] for each in marked] == [each.rule.id for each in report.silenced]
    assert marked
