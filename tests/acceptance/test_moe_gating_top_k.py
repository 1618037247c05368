"""The declared router: its sample runs as a user runs it, and is as short as the README says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.acceptance.sample import assert_prints_what_the_readme_says, copied, run

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "examples" / "moe_gating_top_k"


def test_the_declaration_has_the_lines_that_the_readme_counts() -> None:
    text = (SAMPLE / "operators.py").read_text(encoding="utf-8")
    lines = len(text[text.index("@ops.operator") :].splitlines())
    table = (SAMPLE / "README.md").read_text(encoding="utf-8")
    parts = re.search(r"\*\*(\d+)\*\* \| \*\*together\*\* \| \*\*(\d+)\*\*", table)
    summary = (ROOT / "README.md").read_text(encoding="utf-8")
    stated = re.search(r"takes (\d+) lines instead of (\d+) by hand", summary)
    assert parts is not None
    assert stated is not None
    assert (parts[2], parts[1]) == stated.groups()
    assert (lines, lines <= 25) == (int(parts[2]), True)


@pytest.mark.build
@pytest.mark.twin
@pytest.mark.slow
def test_the_sample_runs_live_and_as_a_wheel(tmp_path: Path) -> None:
    sample = copied("moe_gating_top_k", tmp_path)
    shown = run("bash", sample / "run.sh")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert_prints_what_the_readme_says("moe_gating_top_k", shown.stdout)
    tested = run("bash", sample / "run.sh", "test")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert re.search(r"^\d+ passed in", tested.stdout, re.MULTILINE)
