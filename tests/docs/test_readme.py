"""README: its session runs as it stands, and its figures and names are those of the tree."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import Command, follow, steps
from tests.docs.tree import GOALS, VERBS, WHEEL
from tools.repository import ROOT

if TYPE_CHECKING:
    from pathlib import Path

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
CORPUS = ROOT / "tests" / "check" / "corpus"
MAX_LINES = 120
MAX_SESSION_LINES = 20


@pytest.mark.twin
@pytest.mark.build
@pytest.mark.slow
def test_its_session_prints_what_it_says(tmp_path: Path) -> None:
    follow(README, tmp_path)


def test_it_is_short() -> None:
    for page in (README, README.with_name("README.zh.md")):
        assert len(page.read_text(encoding="utf-8").splitlines()) <= MAX_LINES, page.name
    session = [each for each in steps(README) if isinstance(each, Command)]
    assert sum(1 + each.expected.count("\n") for each in session) <= MAX_SESSION_LINES


def broken(file: Path) -> int:
    """Return how many operators of a file of the corpus are broken."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "BROKEN":
            assert isinstance(node.value, ast.Dict)
            return len(node.value.keys)
    return 0


def test_its_figures_of_check_are_those_of_the_corpora() -> None:
    count = sum(map(broken, CORPUS.glob("*.py")))
    page = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
    assert f"| **all** | **{count}** | **{count}** |" in page
    assert f"finds {count} of {count} broken operators" in TEXT
    found = re.search(r"named (\d+) of (\d+) \((\d+) %\) that others\s+broke", TEXT)
    assert found is not None
    named, there, share = map(int, found.groups())
    assert share == round(100 * named / there)
    assert f"named {named} of the {there} ({share} %)" in page
    sound = re.search(r"\| (\d+) sound operators beside them: false alarms \| \| 0 \|", page)
    assert sound is not None
    assert f"on {sound[1]} sound ones" in TEXT


def test_its_figure_of_conformance_is_that_of_the_page() -> None:
    page = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    (share,) = set(re.findall(r"^\| all \|.* (\d+\.\d %) \|$", page, re.MULTILINE))
    assert f"{share} of the cases that torch_npu supports pass" in TEXT


def test_there_are_five_things_to_try_and_each_exists() -> None:
    _, _, after = TEXT.partition("## Five things to try\n")
    items = re.findall(r"^(\d)\. ", after.partition("\n## ")[0], re.MULTILINE)
    assert items == [*"12345"]
    code = re.findall(r"`([^`\n]+)`", TEXT)
    verbs = {each.split()[1] for each in code if re.match(r"opwright [a-z]", each)}
    assert {"check", "disable", "enable", "lint", "run"} <= verbs <= VERBS
    paths = {word for each in code for word in each.split() if word.startswith("examples/")}
    assert paths
    assert [each for each in paths if not (ROOT / each).exists()] == []
    goals = {each.split()[1] for each in code if each.startswith("make ")} | {
        *re.findall(r"^make (\w+)", TEXT, re.MULTILINE)
    }
    assert {"demo", "test", "wheel"} <= goals <= GOALS


def test_the_wheel_is_named_as_it_is_made() -> None:
    assert f"pip install {WHEEL}\n" in TEXT
