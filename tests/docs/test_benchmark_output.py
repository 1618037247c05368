"""tools/benchmark_output.py: only what a benchmark prints itself comes to the page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "benchmark_output.py"

# Text: files that the tool runs as it runs a benchmark.
LIBRARY = """
import logging
import os
import sys

print("Warning: printed while it is imported")
logging.getLogger("library").addHandler(logging.StreamHandler(sys.stdout))

def warn():
    print("Warning: printed while it is called")
    logging.getLogger("library").error("Warning: logged")
    os.write(1, b"Warning: written by C++\\n")
    return 3
"""
HELPER = """
def show(value):
    print("helper", value)
"""
SCRIPT = """
import sys

import library
from helper import show
from rich.console import Console

show(library.warn())
Console().print("table")
print(sys.argv[1:], __name__)
sys.exit(4)
"""


def test_only_what_a_benchmark_prints_itself_is_its_output(tmp_path: Path) -> None:
    for name, text in (
        ("elsewhere/library", LIBRARY),
        ("benchmarks/helper", HELPER),
        ("benchmarks/script", SCRIPT),
    ):
        file = (tmp_path / name).with_suffix(".py")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, TOOL, tmp_path / "benchmarks" / "script.py", "an argument"],
        env={"PYTHONPATH": str(tmp_path / "elsewhere")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4, done.stderr
    assert done.stdout.splitlines() == ["helper 3", "table", "['an argument'] __main__"]
    assert done.stderr.count("Warning: ") == 4
