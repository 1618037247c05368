"""Kernels in C++ that misuse memory are caught by their row; sound ones beside them pass.

The process has guarded memory, so that it is another one: `guarded/examine.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.check.guarded.names import BROKEN, SOUND, rows_for

pytestmark = [pytest.mark.twin, pytest.mark.build]

FOLDER = Path(__file__).parent / "guarded"
LIMIT = 900  # seconds, the compiler's included
EXACT = {
    "reads_past": "aclnnReadsPast reads byte 4, just behind the end of x",
    "reads_before": "aclnnReadsBefore reads 4 bytes before the start of x",
    "reads_far": "aclnnReadsFar reads byte 4194308, 4194304 bytes behind the end of x",
    "writes_before": "aclnnWritesBefore writes 4 bytes before the start of out (4 bytes in all)",
    "keeps_pointer": "reads byte 0 of 4 of x of an earlier call of aclnnKeepsPointer",
    "skips_last": "1 of them hold what was in the memory before, first element 0",
}

Cells: TypeAlias = list[dict[str, Any]]


@pytest.fixture(scope="module")
def cells() -> Cells:
    """Return what the other process printed."""
    options = ["--guard", "--kernels", str(FOLDER / "kernels.cpp")]
    command = [sys.executable, "-m", "tests.check.guarded.examine"]
    done = subprocess.run(
        [sys.executable, "-m", "opwright", "run", *options, "--", *command],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("name", BROKEN)
def test_each_fault_is_caught_by_its_row(name: str, cells: Cells) -> None:
    found = [each for cell in cells if cell["operator"] == name for each in cell["found"]]
    assert found == [BROKEN[name]]
    text = " ".join(text for cell in cells if cell["operator"] == name for text in cell["text"])
    assert EXACT.get(name, "") in text


@pytest.mark.parametrize("name", SOUND)
def test_sound_kernels_pass(name: str, cells: Cells) -> None:
    ran = [cell for cell in cells if cell["operator"] == name]
    status = {f"{cell['row']} {cell['status']}": cell for cell in ran if not cell["reason"]}
    assert sorted(status) == [f"{row} passed" for row in sorted(rows_for(name))], ran
    assert all(cell["calls"] > 0 for cell in status.values())
