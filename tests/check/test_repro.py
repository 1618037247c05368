"""Scripts that show a fault alone: they make the same arguments, and fail."""

from __future__ import annotations

import ast
import dataclasses
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import opwright.twin  # noqa: F401 - before torch, which loads torch_npu

# isort: split
import torch
import torch_npu  # noqa: F401
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright.check.examine import examine_operator
from opwright.check.finding import Finding, Kind
from opwright.check.known.failures import failures
from opwright.check.outcome import Outcome
from opwright.check.record import CheckedOperator, CheckedRow, Record, list_checked_operators
from opwright.check.repro.arguments import arguments_lines
from opwright.check.repro.scripts import name_of, scripts_of, write_scripts
from opwright.check.request import Request
from opwright.check.rows import row
from opwright.check.samples import arguments
from opwright.kit.declare.operator import Operator
from opwright.kit.declare.place import Place
from opwright.kit.declare.sample import LAYOUTS, Sample, TensorSpec, sample, tensor
from opwright.kit.declare.schema_text import parse_schema
from opwright.kit.packaging.errors import EditedFilesError
from opwright.twin.settings import GUARD
from tests.check.corpus_cells import CORPUS, subjects
from tests.twin import on_twin

pytestmark = pytest.mark.twin

SCHEMA = (
    "f(Tensor x, Tensor[] y, Tensor? z=None, float a=1., complex c=1, ScalarType? dtype=None, "
    "*, Tensor? device=None, Tensor? generator=None, str mode='sum', int[] axis=[0]) -> Tensor"
)
DTYPES = ("float32", "float16", "bfloat16", "float64", "complex64", "int32", "int64", "bool")
TENSORS = st.builds(
    TensorSpec,
    shape=st.lists(st.integers(0, 3), max_size=4).map(tuple),
    dtype=st.sampled_from(DTYPES),
    low=st.none() | st.integers(-3, 0),
    high=st.none() | st.integers(1, 5),
    layout=st.sampled_from(LAYOUTS),
)
SAMPLES = st.builds(
    lambda x, z, y, seed, a, c, dtype, axis: Sample(
        (
            ("x", x),
            ("y", y),
            ("a", a),
            ("c", c),
            ("dtype", dtype),
            ("device", z),
            ("generator", x),
            ("axis", axis),
        ),
        seed,
    ),
    TENSORS,
    TENSORS,
    st.lists(TENSORS, max_size=2).map(tuple),
    st.integers(0, 2**31),
    st.floats(),
    st.complex_numbers(),
    st.none() | st.sampled_from(DTYPES),
    st.lists(st.integers(-2, 2), max_size=3).map(tuple),
)


def made(given: Sample, schema: str) -> dict[str, Any]:
    """Run the lines of a script that make the arguments."""
    lines = arguments_lines(given, parse_schema(schema, where=""))
    names: dict[str, Any] = {"torch": torch}
    exec("\n".join(lines), names)  # noqa: S102 - what is tested
    values: dict[str, Any] = names["arguments"]("cpu")
    return values


def comparable(value: object) -> object:
    """Return what makes a value what it is; tensors with sizes, strides, offset and elements."""
    if isinstance(value, torch.Tensor):
        return (value.dtype, value.shape, value.stride(), value.storage_offset(), value.tolist())
    if isinstance(value, list):
        return [comparable(each) for each in value]
    return value


@settings(max_examples=100)
@given(SAMPLES)
def test_a_script_makes_the_arguments_of_the_sample(given: Sample) -> None:
    operator = Operator(schema=parse_schema(SCHEMA, where=""), place=Place("ops.py", 1))
    want = arguments(operator, given, "cpu")
    got = made(given, SCHEMA)
    # repr: NaN differs from itself.
    assert repr({name: comparable(value) for name, value in got.items()}) == repr(
        {name: comparable(want[name]) for name in got}
    )
    assert got.keys() == dict(given.values).keys()


def test_a_device_is_where_the_script_runs_it() -> None:
    schema = "f(int n, *, Device device) -> Tensor"
    assert made(sample(n=3), schema) == {"n": 3, "device": torch.device("cpu")}


WRONG = Kind("wrong", 'says """ or \\', "mend it")
REQUEST = Request(target=str(CORPUS / "numerics.py"))


def run_of(*outcomes: Outcome) -> Record:
    """Return a run of one operator."""
    return Record(
        target=REQUEST.target,
        versions={},
        seed=0,
        seconds=0.0,
        operators=(
            CheckedOperator(name="my_ops::f", schema="f(Tensor x, float a) -> Tensor", place="f:1"),
        ),
        rows=(),
        outcomes=outcomes,
    )


def failed(*, script: tuple[str, ...], **more: Any) -> Outcome:  # noqa: ANN401 - of Finding
    """Return a cell that failed."""
    finding = Finding(
        kind=WRONG,
        expected="1",
        got='2 """\n\\x',
        place="f:1",
        fix="mend it",
        script=script,
        **more,
    )
    return Outcome(
        operator="my_ops::f", row="numerics", column="eager", status="failed", findings=(finding,)
    )


def test_a_script_for_a_library_needs_no_opwright() -> None:
    request = Request(target="my_ops", load=("/lib/my_ops.so",))
    given = sample(x=tensor(2, 3, dtype="float16", layout="sliced"), a=float("inf")).with_seed(7)
    lines = ("out = operator(**arguments('npu'))", "assert not out.isnan().any()")
    [(name, text)] = scripts_of(run_of(failed(sample=given, script=lines)), request).values()
    assert name == "my_ops.f-numerics-eager-wrong.py"
    golden = Path(__file__).parent / "golden" / "script.txt"
    if os.environ.get("OPWRIGHT_ACCEPT"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "outcome",
    [
        failed(script=("assert reference",)),
        failed(script=(), sample=sample(x=tensor(2), a=float("nan"))),
        failed(script=()),
        Outcome(operator="my_ops::f", row="numerics", column="eager", status="crashed"),
    ],
)
def test_every_script_is_python(outcome: Outcome) -> None:
    [(_, text)] = scripts_of(run_of(outcome), REQUEST).values()
    tree = ast.parse(text)
    assert isinstance(tree.body[-1], ast.Assert)
    assert "os.environ" not in text
    title = outcome.findings[0].kind.title if outcome.findings else "numerics [eager] crashed"
    assert (ast.get_docstring(tree) or "").startswith(f"my_ops::f: {title}")


def test_a_script_of_a_guarded_row_guards_memory() -> None:
    rows = (CheckedRow(name="numerics", title="", columns=("eager",), process="guarded"),)
    run = dataclasses.replace(run_of(failed(script=("assert 0",))), rows=rows)
    [(_, text)] = scripts_of(run, REQUEST).values()
    guard = text.index(f'os.environ["{GUARD}"] = "1"')
    assert guard < text.index("import opwright.twin")


def test_lines_without_an_assertion_are_followed_by_the_row() -> None:
    given = failed(script=("out = operator(**arguments('npu'))",), sample=sample(x=tensor(2)))
    [(_, text)] = scripts_of(run_of(given), REQUEST).values()
    assert text.index("out = operator(") < text.index("fault = replayed(subject, 'numerics'")
    assert text.endswith("assert not fault, fault\n")


def test_an_exception_becomes_an_assertion() -> None:
    lines = ("x = 1", "for _ in range(2):\n    operator(x)")
    [(_, text)] = scripts_of(run_of(failed(script=lines, trace="...")), REQUEST).values()
    assert text.endswith(
        "try:\n"
        "    x = 1\n"
        "    for _ in range(2):\n"
        "        operator(x)\n"
        "except Exception as error:\n"
        '    raise AssertionError(f"{type(error).__name__}: {error}") from error\n'
    )


def test_names_are_files_of_the_folder() -> None:
    outcome = Outcome(
        operator="my_ops::f.out", row="../../x", column="a b/c", status="hung", reason="\n"
    )
    assert name_of(failures([outcome])[0]) == "my_ops.f.out-.._.._x-a_b_c-hung.py"


def test_scripts_of_an_earlier_run_go_and_what_was_changed_stays(tmp_path: Path) -> None:
    folder = tmp_path / "repro"
    (tmp_path / "repro").mkdir()
    (folder / "mine.py").write_text("mine")
    record = run_of(failed(script=("assert 0",)))
    [path] = write_scripts(folder, record, REQUEST).values()
    assert write_scripts(folder, run_of(), REQUEST) == {}
    assert not Path(path).exists()
    write_scripts(folder, record, REQUEST)
    Path(path).write_text("changed")
    with pytest.raises(EditedFilesError):
        write_scripts(folder, record, REQUEST)
    assert Path(path).read_text() == "changed"
    assert (folder / "mine.py").read_text() == "mine"


# Files of the corpus of which each fault's script is run here; the others on demand.
SHOWN = ["numerics"]
MOST = int(os.environ.get("OPWRIGHT_TEST_MOST", "2"))  # operators of a file


def run_each(*paths: str) -> None:
    """Run scripts, each in a process of its own; print how they end: 3 for AssertionError."""
    for path in paths:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                runpy.run_path(path)
                code = 0
            except AssertionError:
                code = 3
            finally:
                sys.stderr.flush()
                os._exit(code)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(path, ended)  # noqa: T201 - the answer


def results(paths: list[str]) -> dict[str, str]:
    """Run scripts where torch_npu has been imported; return how they end."""
    printed = on_twin.output(run_each, *paths)
    ended = (line.rsplit(" ", 1) for line in printed.splitlines())
    return {words[0]: words[1] for words in ended if words[0] in paths}


@pytest.mark.parametrize("name", os.environ.get("OPWRIGHT_TEST_CORPUS", " ".join(SHOWN)).split())
def test_every_script_of_the_corpus_fails_alone(name: str, tmp_path: Path) -> None:
    found, broken = subjects(name)
    shown = [subject for each, subject in found.items() if each in broken][:MOST]
    outcomes = [
        outcome
        for each in shown
        for kind in [broken[each.operator.name]]
        for outcome in examine_operator(each, [row(kind.partition("/")[0])])
    ]
    run = dataclasses.replace(run_of(*outcomes), operators=list_checked_operators(shown))
    request = Request(target=str(CORPUS / f"{name}.py"))
    paths = sorted(write_scripts(tmp_path, run, request).values())
    assert paths
    assert results(paths) == dict.fromkeys(paths, "3")
    # Alone, as its first lines say: the other ones ran where the twin was imported already.
    alone = [sys.executable, "-m", "opwright", "run", "--", sys.executable, paths[0]]
    done = subprocess.run(alone, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "AssertionError" in done.stderr
