"""The verbs of the command line: each is listed, explains itself and has a place in docs/."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from opwright.cli import KIT, app

ROOT = Path(__file__).parent.parent
GROUP = typer.main.get_command(app)
assert isinstance(GROUP, TyperGroup)
VERBS = GROUP.list_commands(typer.Context(GROUP))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_verbs_are_these() -> None:
    assert list(KIT) == [
        "new",
        "add",
        "gen",
        "build",
        "check",
        "import",
        "export",
        "proto",
        "graph",
        "op-plugin",
        "lint",
    ]
    assert [*KIT, "run", "doctor", "twin", "kernels"] == VERBS


def test_help_lists_every_verb() -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0, result.output
    listed = {line.split()[1] for line in result.output.splitlines() if line.startswith("│ ")}
    assert set(VERBS) <= listed


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_explains_itself(verb: str) -> None:
    result = CliRunner().invoke(app, [verb, "--help"])
    assert result.exit_code == 0, result.output
    assert f" {verb} [OPTIONS] " in result.output


@pytest.mark.parametrize("verb", VERBS)
def test_the_docs_mention_a_verb(verb: str) -> None:
    assert any(f"opwright {verb}" in page.read_text(encoding="utf-8") for page in PAGES)
