"""`opwright check` as a user runs it: options, exit codes, files, what is printed."""

from __future__ import annotations

import dataclasses
import io
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from rich.console import Console
from typer.testing import CliRunner

from opwright.check.as_json import record_from_text
from opwright.check.errors import (
    NumberError,
    OutputError,
    PartialReleaseError,
    TargetError,
    UnknownColumnError,
    UnknownOperatorError,
    UnknownRowOptionError,
)
from opwright.check.outcome import Outcome
from opwright.check.processes.lost import Cell
from opwright.check.processes.pool import Finished, Started
from opwright.check.progress import Progress
from opwright.check.record import CheckedOperator, CheckedRow, Record
from opwright.check.report.files import STDOUT, report_unwritable
from opwright.check.selection import choose_operators, choose_rows, list_text
from opwright.cli import app
from opwright.command_line.files import explain_unwritable, write_atomically
from tests.alone import alone, alone_command
from tests.check.commands import HERE, check
from tests.twin.on_twin import ROOT

if TYPE_CHECKING:
    from opwright.errors import OpwrightError

NUMERICS = HERE / "corpus" / "numerics.py"
ROWS = (
    CheckedRow(name="schema", title="well-formed", columns=("registered",)),
    CheckedRow(name="meta", title="Meta is right", columns=("meta", "fake")),
)
OPERATORS = tuple(
    CheckedOperator(name=name, schema="", place="my.py:3")
    for name in ("my::rescale", "my::rescale.scalar", "my::shift_")
)


@cache
def found() -> tuple[subprocess.CompletedProcess[str], Record, str, dict[str, str]]:
    """Run a target with faults; return what was printed and written: JSON, page, scripts."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        done = check(
            *(str(NUMERICS), "--row", "schema", "--row", "numerics/eager", "--seed", "7"),
            *("--op", "twice", "--op", "off_by_little", "--json", str(folder / "run.json")),
            *("--html", str(folder / "run.html"), "--repro", str(folder / "scripts")),
        )
        text = (folder / "run.json").read_text(encoding="utf-8")
        record = record_from_text(text, where="run.json")
        page = (folder / "run.html").read_text(encoding="utf-8")
        scripts = {
            each.name: each.read_text(encoding="utf-8")
            for each in (folder / "scripts").glob("*.py")
        }
    return done, record, page, scripts


@pytest.mark.twin
def test_a_fault_is_printed_and_the_exit_code_is_1() -> None:
    done, _, _, _ = found()
    assert done.returncode == 1, done.stderr
    assert "corpus_numerics::off_by_little  numerics [eager]  wrong-values" in done.stdout
    assert "1 failed, 3 passed" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.twin
def test_progress_is_a_line_per_operator_where_there_is_no_terminal() -> None:
    lines = found()[0].stderr.splitlines()
    assert lines[0].startswith("import of torch and torch_npu ")
    assert lines[0].endswith("2 operators, 2 rows")
    assert sorted(line.split()[1] for line in lines[1:3]) == [
        "corpus_numerics::off_by_little",
        "corpus_numerics::twice",
    ]


@pytest.mark.twin
def test_the_run_is_written_for_programs_and_for_people() -> None:
    _, run, page, scripts = found()
    assert run.seed == 7
    assert run.target == str(NUMERICS)
    assert {"opwright", "torch", "torch_npu"} <= run.versions.keys()
    cells = [(each.operator.partition("::")[2], each.row, each.status) for each in run.outcomes]
    assert cells == [
        ("twice", "schema", "passed"),
        ("twice", "numerics", "passed"),
        ("off_by_little", "schema", "passed"),
        ("off_by_little", "numerics", "failed"),
    ]
    assert all(each.seconds > 0 for each in run.outcomes)
    assert "off_by_little" in page
    assert [name for name in scripts if "off_by_little" in name] == list(scripts)


@pytest.mark.twin
def test_a_library_that_knows_nothing_of_opwright_is_checked() -> None:
    done = check(
        *(
            "checked_library",
            "--load",
            str(HERE / "targets" / "library.py"),
            "--row",
            "numerics/eager",
        ),
        *("--declaration", str(HERE / "targets" / "described.py")),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 operators, 1 row: 2 passed, 1 not applicable" in done.stdout


@pytest.mark.twin
def test_list_runs_nothing_and_says_what_does_not_apply() -> None:
    done = check(
        *(
            "checked_library",
            "--load",
            str(HERE / "targets" / "library.py"),
            "--list",
            "--op",
            "halve_into",
        ),
        *("--row", "meta", "--row", "numerics"),
    )
    assert done.returncode == 0, done.stderr
    assert "  meta  [meta, fake, large]  " in done.stdout
    assert "  checked_library::halve_into  " in done.stdout
    assert (
        "    not numerics: the operator has no reference function, nor a kernel for the CPU"
        in done.stdout
    )


@pytest.mark.twin
def test_an_unknown_row_is_refused_with_exit_code_2() -> None:
    done = check(str(NUMERICS), "--row", "numerisc")
    assert done.returncode == 2
    assert "OPW-C007 unknown row" in done.stderr
    assert "allowed: numerics, " in done.stderr


REFUSED = {
    "no file": (["corpus/numeric.py"], TargetError, "numerics.py"),
    "no folder": (["nowhere/operators.py"], TargetError, "no folder 'nowhere'"),
    "no workers": (["corpus/numerics.py", "-n", "0"], NumberError, "1 to 64"),
    "no time": (["corpus/numerics.py", "--timeout", "0"], NumberError, "more than 0"),
    "no place": (["corpus/numerics.py", "--json", "no/run.json"], OutputError, "no folder"),
    "a folder": (["corpus/numerics.py", "--html", "corpus"], OutputError, "which is a folder"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_done_is_refused_at_once(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE)
    arguments, error, text = REFUSED[case]
    result = CliRunner().invoke(app, ["check", *arguments])
    assert isinstance(result.exception, error)
    assert text in str(result.exception)


def test_the_command_imports_no_torch() -> None:
    # Text: a module of tests imports more.
    code = (
        "import sys\n"
        "import opwright.check.command\n"
        "assert not {'torch', 'torch_npu'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rows_and_columns_are_chosen_in_their_order() -> None:
    assert choose_rows(ROWS, []) == ROWS
    assert choose_rows(ROWS, ["meta", "schema"]) == ROWS
    (row,) = choose_rows(ROWS, ["meta/fake"])
    assert (row.name, row.columns) == ("meta", ("fake",))
    (row,) = choose_rows(ROWS, ["meta/fake", "meta/meta"])
    assert row.columns == ("meta", "fake")


@pytest.mark.parametrize(
    ("given", "error", "allowed"),
    [
        ("mta", UnknownRowOptionError, ("meta", "schema")),
        ("meta/fakes", UnknownColumnError, ("meta/meta", "meta/fake")),
    ],
)
def test_unknown_rows_are_refused(
    given: str, error: type[OpwrightError], allowed: tuple[str, ...]
) -> None:
    with pytest.raises(error) as caught:
        choose_rows(ROWS, [given])
    assert caught.value.allowed == allowed


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ([], ["my::rescale", "my::rescale.scalar", "my::shift_"]),
        (["rescale"], ["my::rescale", "my::rescale.scalar"]),
        (["my::rescale.scalar"], ["my::rescale.scalar"]),
        (["shift_", "rescale.scalar"], ["my::rescale.scalar", "my::shift_"]),
    ],
)
def test_operators_are_chosen_with_and_without_namespace(
    given: list[str], names: list[str]
) -> None:
    assert [each.name for each in choose_operators(OPERATORS, given)] == names


def test_unknown_operators_are_refused() -> None:
    with pytest.raises(UnknownOperatorError) as caught:
        choose_operators(OPERATORS, ["my::shift"])
    assert caught.value.allowed[0] == "my::shift_"


def test_the_list_is_as_accepted() -> None:
    applies: list[list[str | None]] = [
        ["my::rescale", "meta", "it has no Meta"],
        ["my::rescale", "schema", None],
    ]
    assert list_text(OPERATORS[:1], ROWS, applies) == (
        "2 rows:\n"
        "  schema  [registered]  well-formed\n"
        "  meta  [meta, fake]  Meta is right\n"
        "1 operator:\n"
        "  my::rescale  my.py:3\n"
        "    not meta: it has no Meta"
    )


def test_progress_on_a_terminal_shows_what_is_running() -> None:
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=80, color_system=None)
    cell = Cell(operator="my::rescale", row="meta", column="fake")
    outcome = Outcome(operator="my::rescale", row="meta", column="fake", status="failed")
    progress = Progress(console, {"my::rescale": 2})
    with progress:
        progress.note(Started(cell))
        console.print(progress.lines())
        progress.note(Finished(cell, outcome))
        progress.note(Finished(cell, dataclasses.replace(outcome, status="passed")))
    shown = text.getvalue()
    assert "0/2 cells" in shown
    assert "my::rescale  meta [fake]" in shown
    assert "2/2  my::rescale  1 passed, 1 failed  0.0 s  (meta)" in shown


@pytest.mark.twin
def test_a_run_is_printed_for_programs_instead_of_the_report() -> None:
    done = check(str(NUMERICS), "--row", "schema", "--op", "twice", "--json", "-")
    assert done.returncode == 0, done.stderr
    record = record_from_text(done.stdout, where="standard output")
    assert [each.status for each in record.outcomes] == ["passed"]
    assert "1 operator, 1 row: 1 passed" in done.stderr


@pytest.mark.twin
def test_what_cannot_be_written_keeps_nothing_else_from_being_reported(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "run.json")
    done = check(
        *(str(NUMERICS), "--row", "schema", "--op", "twice", "--html", "/dev/full"),
        *("--json", str(tmp_path / "link.json")),
        folder=tmp_path,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert "1 operator, 1 row: 1 passed" in done.stdout
    assert "OPW-C010" in done.stderr
    assert "--html" in done.stderr
    assert "Traceback" not in done.stderr
    assert Path("/dev/full").is_char_device()
    assert (tmp_path / "link.json").is_symlink()
    # Nothing else is left where the command was called, as hypothesis would.
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.json", "run.json"]


def print_to_a_full_stream() -> None:
    try:
        with report_unwritable(STDOUT):
            print("a", flush=True)  # noqa: T201 - it cannot be
    except OutputError as error:
        sys.exit(7 if error.where == STDOUT else 8)


def test_a_full_stream_is_an_error_that_says_so() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            alone_command(print_to_a_full_stream),
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (7, b"")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "folder"),
        ("circle", "circle"),
        ("dangling", "there is no folder"),
        ("n" * 300, "too long"),
        ("link", None),
        ("/dev/null", None),
    ],
)
def test_what_can_be_written_is_known_before_the_run(
    name: str, why: str | None, tmp_path: Path
) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (tmp_path / "dangling").symlink_to(tmp_path / "none" / "file")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    found = explain_unwritable(tmp_path / name)
    assert found is None if why is None else why in (found or "")


def write_to_the_pipe() -> None:
    write_atomically(Path("/dev/stdout"), "text", force=True)


def test_the_pipe_behind_standard_output_is_written() -> None:
    done = alone(write_to_the_pipe)
    assert (done.returncode, done.stdout, done.stderr) == (0, "text", "")


@pytest.mark.parametrize("part", [("--op", "twice"), ("--row", "schema"), ("--list",)])
def test_a_part_is_not_released(part: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, ["check", str(NUMERICS), "--release", "1.0", *part])
    assert isinstance(result.exception, PartialReleaseError)
    assert part[0] in result.exception.got
