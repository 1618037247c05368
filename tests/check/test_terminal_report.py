"""The text of a run: what fails and how to mend it, a table, counts.

OPWRIGHT_ACCEPT=1 writes the golden file anew; the difference is what a reviewer reads.
"""

from __future__ import annotations

import dataclasses
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from opwright.check.finding import Finding, Kind
from opwright.check.outcome import Outcome
from opwright.check.record import CheckedOperator, CheckedRow, KnownFailure, Record
from opwright.check.report.source import escape_controls, find_raise, source_line
from opwright.check.report.terminal import record_text
from opwright.kit.declare.sample import sample, tensor

GOLDEN = Path(__file__).parent / "golden" / "terminal.txt"
WRONG = Kind("wrong-values", "the operator computes something else", "correct the kernel")
SOURCE = 'ops = OperatorSet("my_ops")\n\n\n@ops.operator("rescale(Tensor x) -> Tensor")\n'
KERNEL = "def kernel(x, out):\n    raise TypeError\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with sources."""
    (tmp_path / "operators.py").write_text(SOURCE)
    (tmp_path / "kernels.py").write_text(KERNEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_in(folder: Path) -> Record:
    """Return a run with all that a report shows."""
    place = f"{folder}/operators.py:4"
    wrong = Finding(
        kind=WRONG,
        expected="out of the reference",
        got="6 of 6 elements differ; the greatest absolute difference is 0.5 at (0, 1), where "
        "1e-05 is allowed, and the greatest relative difference is 0.25\nline two",
        place=place,
        fix="correct the kernel or the reference; if both are right, state how exact it is",
        sample=sample(x=tensor(2, 3, dtype="float16", layout="sliced")),
    )
    raises = dataclasses.replace(
        wrong,
        kind=Kind("raises", "the operator raises", "mend it"),
        got="TypeError",
        sample=None,
        trace=f'Traceback\n  File "{folder}/kernels.py", line 2, in kernel\nTypeError',
    )

    def cell(operator: str, row: str, column: str = "eager") -> Outcome:
        return Outcome(operator=f"my_ops::{operator}", row=row, column=column, status="passed")

    def without_backward(operator: str) -> Outcome:
        reason = "the operator has no backward"
        return dataclasses.replace(
            cell(operator, "gradients"), status="not applicable", reason=reason
        )

    return Record(
        target="operators.py",
        versions={},
        seed=0,
        seconds=12.34,
        operators=tuple(
            CheckedOperator(name=f"my_ops::{name}", schema="", place=place)
            for name in ("rescale", "norm", "copy", "sum")
        ),
        rows=(
            CheckedRow(name="numerics", title="", columns=("eager",)),
            CheckedRow(name="compiled", title="", columns=("aot_eager", "max-autotune")),
            CheckedRow(name="gradients", title="", columns=("eager",)),
        ),
        outcomes=(
            dataclasses.replace(
                cell("rescale", "numerics"), status="failed", findings=(wrong, raises)
            ),
            dataclasses.replace(
                cell("rescale", "compiled", "aot_eager"), status="failed", findings=(wrong,)
            ),
            dataclasses.replace(
                cell("rescale", "compiled", "max-autotune"), status="failed", findings=(wrong,)
            ),
            without_backward("rescale"),
            dataclasses.replace(
                cell("norm", "numerics"),
                status="crashed",
                reason="killed by SIGSEGV\nin sample(x=tensor(0))\nkernels.cpp:17 in norm_kernel",
            ),
            dataclasses.replace(
                cell("norm", "compiled", "aot_eager"),
                status="blocked",
                reason="an eager call fails",
            ),
            without_backward("norm"),
            dataclasses.replace(cell("copy", "numerics"), status="failed", findings=(wrong,)),
            cell("sum", "numerics"),
            cell("sum", "compiled", "aot_eager"),
            dataclasses.replace(cell("sum", "gradients"), status="hung", reason="120 s were over"),
        ),
        known=(
            KnownFailure(
                operator="my_ops::copy",
                row="numerics",
                column="eager",
                kind="wrong-values",
                reason="rounds to zero",
                issue="#17",
            ),
        ),
        unexpected=("check.toml:3: my_ops::sum numerics: is known to fail, but passes",),
    )


def test_all_that_a_report_tells(folder: Path) -> None:
    scripts = {("my_ops::rescale", "compiled", "aot_eager", "wrong-values"): "repro/rescale.py"}
    text = record_text(run_in(folder), scripts=scripts, width=88).plain
    if os.environ.get("OPWRIGHT_ACCEPT"):
        GOLDEN.write_text(f"{text}\n", encoding="utf-8")
    assert f"{text}\n" == GOLDEN.read_text(encoding="utf-8")


def test_all_is_well_and_little_is_said(folder: Path) -> None:
    run = run_in(folder)
    outcomes = tuple(each for each in run.outcomes if each.status in {"passed", "not applicable"})
    run = dataclasses.replace(run, outcomes=outcomes, known=(), unexpected=())
    assert record_text(run).plain == (
        "3 operators, 3 rows: 2 passed, 2 not applicable in 12.3 s\n"
        "  not applicable, 2 cells of gradients: the operator has no backward"
    )


def test_colours_are_for_terminals(folder: Path) -> None:
    text = record_text(run_in(folder))
    plain, coloured = io.StringIO(), io.StringIO()
    Console(file=plain, force_terminal=False).print(text, soft_wrap=True, highlight=False)
    terminal = Console(file=coloured, force_terminal=True, color_system="standard", no_color=False)
    terminal.print(text, soft_wrap=True, highlight=False)
    assert plain.getvalue() == f"{text.plain}\n"
    assert "\x1b[1;31m" in coloured.getvalue()


def test_a_run_cannot_write_to_the_terminal_but_text(folder: Path) -> None:
    run = run_in(folder)
    evil = "\x1b[2J[red]\x07\u202e"
    finding = dataclasses.replace(run.outcomes[0].findings[0], got=evil, expected=evil, fix=evil)
    outcomes = (
        dataclasses.replace(run.outcomes[0], operator=f"my_ops::{evil}", findings=(finding,)),
        dataclasses.replace(run.outcomes[4], reason=evil),
    )
    text = record_text(dataclasses.replace(run, outcomes=outcomes, unexpected=(evil,))).plain
    assert escape_controls(evil) in text
    assert not [each for each in text if not each.isprintable() and each != "\n"]


def test_a_place_without_its_source_is_reported_alone(folder: Path) -> None:
    assert source_line(f"{folder}/operators.py:99").text == ""
    assert source_line(f"{folder}/missing.cpp:1") == source_line("missing.cpp:1")
    assert source_line("a schema").place == "a schema"
    shown = source_line(f"{folder}/operators.py:4, operator my_ops::rescale")
    assert shown.place == "operators.py:4, operator my_ops::rescale"
    assert shown.text == SOURCE.splitlines()[3]


def test_where_an_exception_came_from_is_the_users_code() -> None:
    trace = (
        '  File "/home/me/kernels.py", line 7, in kernel\n    call()\n'
        '  File "/env/site-packages/torch/_ops.py", line 9, in __call__\n'
    )
    assert find_raise(trace) == "/home/me/kernels.py:7"
    assert find_raise('  File "/env/site-packages/torch/_ops.py", line 9, in __call__\n') is None


def test_reports_need_no_torch() -> None:
    # Text: a module of tests imports more.
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import opwright.check.report.terminal, opwright.check.report.html\n"
        "import opwright.check.known.ledger, opwright.check.known.accept\n"
        "import opwright.check.repro.scripts\n"
        "import opwright.check.pytest_plugin.items\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def finding_of(kind: str, title: str) -> Finding:
    return Finding(
        kind=Kind(kind, title, "mend it"),
        expected="",
        got="",
        place="operators.py:4",
        fix="mend it",
    )


def outcome_of(row: str, kind: str) -> Outcome:
    findings = (finding_of(kind, f"what {row} says"),)
    return Outcome(operator="my_ops::copy", row=row, column="c", status="failed", findings=findings)


def test_what_follows_from_a_fault_stands_beneath_it(folder: Path) -> None:
    outcomes = (
        outcome_of("registration", "no-functionalize"),
        outcome_of("functionalization", "refused"),
        outcome_of("compiled", "refused"),
    )
    record = dataclasses.replace(run_in(folder), outcomes=outcomes, known=(), unexpected=())
    text = record_text(record).plain
    assert text.count("fix:") == 1
    assert (
        "  follows:   functionalization/refused [c]: what functionalization says\n"
        "             compiled/refused [c]: what compiled says\n"
    ) in text


def test_a_blocked_row_names_what_blocks_it(folder: Path) -> None:
    failed = outcome_of("numerics", "raises")
    blocked = dataclasses.replace(
        failed, row="layouts", status="blocked", findings=(), reason="it raises"
    )
    record = dataclasses.replace(
        run_in(folder), outcomes=(failed, blocked), known=(), unexpected=()
    )
    text = record_text(record).plain
    assert "  blocked by numerics/raises, 1 cell of layouts: it raises" in text
