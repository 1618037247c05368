"""docs/lint.md: every rule has a section, its bad example is found and its good one is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opwright.lint.linting import lint_facts, read_file
from opwright.lint.rules.table import RULES, SUPPRESSION_RULES

PAGE = Path(__file__).parents[2] / "docs" / "lint.md"
ALL = (*RULES, *SUPPRESSION_RULES)
FENCE = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
SUFFIXES = {"cpp": ".cpp", "python": ".py", "yaml": ".yaml"}


def sections() -> dict[str, str]:
    """Return the text of each rule's section."""
    page = PAGE.read_text(encoding="utf-8").partition("\n## Rules\n")[2].partition("\n## ")[0]
    parts = re.split(r"^### (\S+)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def found_in(text: str) -> list[list[str]]:
    """Return the rules that are found in each example of a text."""
    found = []
    for language, code in FENCE.findall(text):
        suffix = SUFFIXES[language]
        facts = read_file(f"example{suffix}", suffix, code.encode())
        assert facts is not None, code
        assert not facts.problems, code
        found.append([each.rule.id for each in lint_facts([facts]).findings])
    assert found
    return found


def test_sections_are_those_of_the_rules() -> None:
    assert list(sections()) == [each.id for each in ALL]


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)
def test_a_section_says_what_the_rule_says(rule: object) -> None:
    section = " ".join(sections()[rule.id].split())  # type: ignore[attr-defined]
    for text in (rule.severity.value, rule.title, rule.why, rule.fix):  # type: ignore[attr-defined]
        assert text in section


@pytest.mark.parametrize("name", [each.id for each in ALL])
def test_the_bad_example_is_found_and_the_good_one_is_not(name: str) -> None:
    bad, _, good = sections()[name].partition("\nSound:\n")
    for rules in found_in(bad):
        assert name in rules
    for rules in found_in(good):
        assert name not in rules
