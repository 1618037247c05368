"""The declared router: its sample runs as a user runs it, and is as short as the README says."""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "examples" / "moe_gating_top_k"


def test_the_declaration_has_the_lines_that_the_readme_counts() -> None:
    text = (SAMPLE / "operators.py").read_text(encoding="utf-8")
    lines = len(text[text.index("@ops.operator") :].splitlines())
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    counts = re.search(r"\*\*(\d+)\*\* \| \*\*together\*\* \| \*\*(\d+)\*\*", readme)
    assert counts is not None
    assert (lines, lines <= 25) == (int(counts[2]), True)


@pytest.mark.build
@pytest.mark.twin
@pytest.mark.slow
def test_the_sample_runs_live_and_as_a_wheel() -> None:
    done = subprocess.run(
        ["bash", str(SAMPLE / "run.sh")],
        env={
            **os.environ,
            "PATH": f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "compiled: the same, in one graph" in done.stdout
    assert "refused: moe_ops::moe_gating_top_k: '1 <= k <= E" in done.stdout
    assert re.search(r"\d+ passed", done.stdout)
