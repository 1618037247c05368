"""`pytest --opwright-check`: an item for each operator and row, in processes of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.check.pytest_plugin.shards import SCHEDULERS, operator_of

pytestmark = pytest.mark.twin

OPERATORS = Path(__file__).parent / "ending" / "items.py"
WRONG = """
[[known]]
operator = "items::wrong"
row = "numerics/wrong-values"
reason = "adds two until the next release"
"""
LEDGER = """
[[known]]
operator = "items::ends"
row = "numerics/crashed"
reason = "ends the process"
"""
STALE = """
[[known]]
operator = "items::sound"
row = "numerics"
reason = "was wrong"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a declaration and a test."""
    shutil.copy(OPERATORS, tmp_path / "operators.py")
    (tmp_path / "test_other.py").write_text("def test_other(): pass\n")
    return tmp_path


def run(folder: Path, *options: str, row: str = "numerics") -> tuple[int, str]:
    """Run pytest in the folder on one row; return its exit code and what it printed."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-ra", "-W", "error"]
    ignored = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
    done = subprocess.run(
        [*command, "-W", ignored, "-k", row, "--opwright-check", "operators.py", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )
    return done.returncode, done.stdout + done.stderr


def counts(printed: str) -> dict[str, int]:
    """Return the numbers of the last line."""
    last = printed.rstrip().splitlines()[-1]
    return {word: int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", last)}


def test_a_failed_item_prints_what_the_command_prints(folder: Path) -> None:
    (folder / "check.toml").write_text(LEDGER)
    code, printed = run(folder)
    assert code == 1
    assert counts(printed) == counts(printed) | {"failed": 1, "passed": 1, "xfailed": 1}
    assert "FAILED items::wrong::numerics" in printed
    assert "items::wrong  numerics [eager" in printed
    assert "  got:       " in printed
    assert "operators.py:19" in printed
    assert "ends the process" in printed
    assert "test_other" not in printed


def gateways(printed: str) -> dict[str, set[str]]:
    """Return operator -> the processes of xdist that ran its items."""
    found: dict[str, set[str]] = {}
    line = r"^\[(gw\d)\] .* [A-Z]+ items::(\w+)::"
    for gateway, name in re.findall(line, printed, re.MULTILINE):
        found.setdefault(name, set()).add(gateway)
    return found


def test_xdist_keeps_an_operator_together_and_ledgers_are_compared_with_all(folder: Path) -> None:
    (folder / "known.toml").write_text(WRONG + LEDGER + STALE)
    options = ("-n", "2", "--dist", "loadgroup", "-v", "--opwright-ledger", "known.toml")
    code, printed = run(folder, *options, row="numerics or schema")
    assert code == 1, printed
    assert "failed" not in counts(printed)
    assert counts(printed)["xfailed"] == 2
    assert "adds two until the next release" in printed
    assert "known.toml:12: items::sound numerics: is known to fail, but passes" in printed
    assert sorted(map(len, gateways(printed).values())) == [1, 1, 1]


def test_loadfile_and_loadgroup_split_by_operator_and_leave_tests_as_they_are() -> None:
    scopes = {}
    for name, scheduler in SCHEDULERS.items():
        given = object.__new__(scheduler)  # it needs no configuration to split
        ids = ("my_ops::rescale::numerics", "tests/test_x.py::test_it@group")
        scopes[name] = [given._split_scope(each) for each in ids]
    assert scopes == {
        "loadfile": ["my_ops::rescale", "tests/test_x.py"],
        "loadgroup": ["my_ops::rescale", "group"],
    }


def test_items_are_listed_and_paths_of_tests_are_run_too(folder: Path) -> None:
    code, printed = run(folder, "--collect-only", "-q", "test_other.py", row="schema or other")
    assert code == 0
    listed = [line for line in printed.splitlines() if "::" in line]
    assert listed == [
        "test_other.py::test_other",
        "items::sound::schema",
        "items::wrong::schema",
        "items::ends::schema",
    ]


def test_what_cannot_be_loaded_is_a_usage_error(folder: Path) -> None:
    (folder / "check.toml").write_text(WRONG.replace("items::wrong", "items::wrongs"))
    code, printed = run(folder)
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "OPW-C025" in printed
    command = [sys.executable, "-m", "pytest", "--opwright-ledger", "check.toml"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "can only be used with --opwright-check" in done.stderr


def test_what_is_kept_together() -> None:
    assert operator_of("my_ops::rescale.out::meta") == "my_ops::rescale.out"
    assert operator_of("tests/test_x.py::TestIt::test_it") is None
    assert operator_of("test_x.py::test_it[a::b]") is None
