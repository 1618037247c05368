"""The declared router: its sample runs as a user runs it, and is as short as the README says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.acceptance.sample import assert_prints_what_the_readme_says, copied, run

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "examples" / "moe_gating_top_k"


def test_the_declaration_has_the_lines_that_the_pages_count() -> None:
    text = (SAMPLE / "operators.py").read_text(encoding="utf-8")
    _, _, body = text.partition('ops = ow.OperatorSet("moe_ops", version="1.0.0")\n')
    lines = sum(bool(line.strip()) for line in body.splitlines())
    counts = {path: set(re.findall(pattern, read(path))) for path, pattern in COUNTS.items()}
    assert counts == {path: {str(lines)} for path in COUNTS}
    own = "examples/moe_gating_top_k/README.md"
    parts = [int(count) for count in re.findall(r"\| (\d+) \|$", read(own), re.MULTILINE)]
    assert sum(parts) == lines


COUNTS = {
    "README.md": r"takes (\d+) lines instead of 241 by hand",
    "README.zh.md": r"手写需要 241 行.用声明只要 (\d+) 行",
    "docs/operators.md": r"a whole one: (\d+) lines for what takes 241 by hand",
    "examples/README.md": r"an operator declared in (\d+) lines",
    "examples/moe_gating_top_k/README.md": r"(?:in |together\*\* \| \*\*)(\d+)(?: lines|\*\*)",
}


def read(path: str) -> str:
    """Return the text of a page."""
    return (ROOT / path).read_text(encoding="utf-8")


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
