"""`opwright add`: an operator behind what is in the file, which stays as it is."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.kit.declare.errors import DuplicateOperatorError, ReservedNameError, SchemaError
from opwright.kit.declare.schema_text import parse_schema
from opwright.project.add import Added, add_schema, add_template
from opwright.project.config import load_operators, read_project
from opwright.project.errors import CannotAddError, DeclarationFileError, NoProjectError
from opwright.project.lazy_torch import lazy_torch
from opwright.project.new import make_project
from opwright.project.sketch import sketch
from opwright.project.template import TEMPLATES
from tests.alone import alone, alone_command
from tests.twin.on_twin import ROOT, printed

if TYPE_CHECKING:
    from opwright.errors import OpwrightError
    from opwright.kit.declare.operator import Operator

RESCALE = "rescale(Tensor x, *, float factor=1.0) -> Tensor"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "my_ops", TEMPLATES["functional"])


def operators(folder: Path) -> dict[str, Operator]:
    with lazy_torch():
        declared = load_operators(read_project(folder)).freeze().operators
    return {operator.name: operator for operator in declared}


def add(folder: Path, schema: str) -> Added:
    return add_schema(read_project(folder), schema)


def test_a_schema(project: Path) -> None:
    before = (project / "operators.py").read_bytes()
    added = add(project, RESCALE)
    after = (project / "operators.py").read_text()
    assert after.encode().startswith(before)
    assert after.removeprefix(before.decode()) == (
        "\n\n@ops.operator(\n"
        f'    "{RESCALE}",\n'
        "    samples=[ow.sample(x=ow.tensor(4, 8))],\n"
        ")\n"
        "def rescale(x, *, factor=1.0):\n"
        '    """Return what rescale computes."""\n'
        '    raise NotImplementedError("the reference is still to be written")\n'
    )
    assert added == Added(
        name="rescale",
        file=project / "operators.py",
        line=after.splitlines().index("@ops.operator(", 25) + 1,
    )
    assert str(operators(project)["rescale"].schema) == RESCALE


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_under_another_name(project: Path, name: str) -> None:
    add_template(read_project(project), "mine", TEMPLATES[name])
    found = operators(project)
    assert list(found) == ["softcap", "mine"]
    assert found["mine"].samples
    old = TEMPLATES[name].operator.rstrip("_")
    added = (project / "operators.py").read_text().split("mine", 1)[1]
    assert f"{old}(" not in added
    assert f"{old.upper()}_" not in added


def test_all_templates_in_one_project(project: Path) -> None:
    for name in ("in-place", "multi-output", "attention"):
        add_template(read_project(project), f"op_{name.replace('-', '_')}", TEMPLATES[name])
    assert list(operators(project)) == ["softcap", "op_in_place", "op_multi_output", "op_attention"]


def test_what_the_file_calls_things(project: Path) -> None:
    file = project / "operators.py"
    file.write_text(
        'from opwright import OperatorSet\n\nmine: OperatorSet = OperatorSet("my_ops")\n'
    )
    add_template(read_project(project), "cap", TEMPLATES["functional"])
    text = file.read_text()
    assert "import opwright as ow\n" in text
    assert "import torch\n" in text
    assert "@mine.operator(" in text
    assert list(operators(project)) == ["cap"]


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n\n# the end"])
def test_line_ends_stay(project: Path, end: str) -> None:
    file = project / "operators.py"
    newline = "\r\n" if "\r" in end else "\n"
    before = (file.read_text().rstrip().replace("\n", newline) + end).encode()
    file.write_bytes(before)
    add(project, RESCALE)
    after = file.read_bytes()
    assert after.startswith(before)
    assert b"\n" not in after.removeprefix(before).replace(newline.encode(), b"")
    assert list(operators(project)) == ["softcap", "rescale"]


def test_other_encodings_stay(project: Path) -> None:
    file = project / "operators.py"
    before = ("# coding: latin-1\n# naïve\n" + file.read_text()).encode("latin-1")
    file.write_bytes(before)
    add(project, RESCALE)
    assert file.read_bytes().startswith(before)
    assert list(operators(project)) == ["softcap", "rescale"]


def test_modes_and_links_stay(project: Path) -> None:
    file, real = project / "operators.py", project / "real.py"
    file.rename(real)
    real.chmod(0o640)
    file.symlink_to(real)
    add(project, RESCALE)
    assert file.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert "rescale" in real.read_text()


def refused(folder: Path, schema: str, kind: type[OpwrightError]) -> OpwrightError:
    """Return the error; nothing may have changed, except what Python keeps of modules."""

    def contents() -> dict[Path, bytes]:
        files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
        return {path: path.read_bytes() for path in files}

    before = contents()
    with pytest.raises(kind) as caught:
        add(folder, schema)
    assert contents() == before
    return caught.value


def test_a_duplicate(project: Path) -> None:
    error = refused(project, "softcap(Tensor x) -> Tensor", DuplicateOperatorError)
    assert error.where == "opwright add, operator softcap"
    assert error.got.startswith(f"a declaration at {project / 'operators.py'}:")


def test_a_name_that_the_file_has(project: Path) -> None:
    error = refused(project, "torch(Tensor x) -> Tensor", CannotAddError)
    assert str(error) == (
        "OPW-P014 the operator cannot be added\n"
        f"  where:   {project / 'operators.py'}, function torch\n"
        "  got:     a name that the file has for something else\n"
        "  fix:     rename what is there, or choose another name for the operator"
    )


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ("rescale(Tensor x -> Tensor", SchemaError),
        ("class(Tensor x) -> Tensor", ReservedNameError),
        ("rescale(Tensor lambda) -> Tensor", ReservedNameError),
    ],
)
def test_schemas_that_are_none(project: Path, schema: str, kind: type[OpwrightError]) -> None:
    assert refused(project, schema, kind).where.startswith("opwright add")


@pytest.mark.parametrize(
    "text", ["def f(:\n", "raise ValueError('no')\n", "import nothing_there\n"]
)
def test_a_file_that_cannot_be_loaded(project: Path, text: str) -> None:
    file = project / "operators.py"
    file.write_text(file.read_text() + text)
    line = len(file.read_text().splitlines())
    assert refused(project, RESCALE, DeclarationFileError).where == f"{file}:{line}"


def add_in(folder: str, name: str) -> None:
    """Add an operator with this name."""
    add(Path(folder), f"{name}(Tensor x) -> Tensor")


def start(project: Path, name: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(alone_command(add_in, str(project), name), cwd=ROOT)


def test_several_at_once_undo_nothing(project: Path) -> None:
    names = [f"at_once_{index}" for index in range(4)]
    processes = [start(project, name) for name in names]
    assert [process.wait() for process in processes] == [0] * len(names)
    assert operators(project).keys() == {"softcap", *names}


def test_killed_in_between(project: Path) -> None:
    """The file stays; what the process left is removed by the next."""
    file = project / "operators.py"
    text = file.read_text()
    # Text: what the project's file says, in which `add` writes.
    slow = "if __file__.endswith('-new.py'):\n    __import__('time').sleep(60)\n"
    file.write_text(f"{text}\n{slow}")
    with start(project, "killed") as process:
        deadline = time.monotonic() + 300
        while not (left := list(project.glob(".operators*"))):
            assert time.monotonic() < deadline
            time.sleep(0.01)  # waits for another process's file
        process.kill()
    assert file.read_text() == f"{text}\n{slow}"
    assert [each.exists() for each in left] == [True]
    file.write_text(text)
    add(project, RESCALE)
    assert operators(project).keys() == {"softcap", "rescale"}
    assert not list(project.glob(".operators*"))


def test_no_project(tmp_path: Path) -> None:
    with pytest.raises(NoProjectError, match="OPW-P001"):
        add(tmp_path, RESCALE)


def test_a_set_that_is_no_variable_of_the_file(project: Path) -> None:
    (project / "sets.py").write_text('import opwright\nops = opwright.OperatorSet("my_ops")\n')
    (project / "operators.py").write_text("from sets import ops\n")
    error = refused(project, RESCALE, CannotAddError)
    assert error.got == "0 assignments NAME = OperatorSet(...)"


def add_without_torch(folder: str) -> None:
    add(Path(folder), RESCALE)
    assert "torch._C" not in sys.modules


def test_torch_is_not_imported(project: Path) -> None:
    printed(alone(add_without_torch, str(project)))
    assert operators(project).keys() == {"softcap", "rescale"}


# Sketches

SCALARS = ("int", "SymInt", "float", "bool", "str", "Scalar", "ScalarType", "Device", "Generator")
TYPES = [
    *("Tensor", "Tensor?", "Tensor[]", "Tensor?[]", "int[]", "int[2]", "SymInt[]", "float[]"),
    *("bool[3]", "ScalarType?", "float?", "int[]?", *SCALARS),
]


@given(
    positional=st.lists(st.sampled_from(TYPES), max_size=6),
    keyword=st.lists(st.sampled_from(TYPES), max_size=4),
    results=st.sampled_from(
        ["()", "Tensor", "(Tensor, Tensor)", "(Tensor y, Tensor z)", "Tensor[]"]
    ),
)
def test_every_schema_has_a_sketch(positional: list[str], keyword: list[str], results: str) -> None:
    names = iter(f"argument_{index}" for index in range(10))
    parts = [f"{kind} {next(names)}" for kind in positional]
    parts += ["*"] * bool(keyword) + [f"{kind} {next(names)}" for kind in keyword]
    schema = parse_schema(f"sketched({', '.join(parts)}) -> {results}", where="test")
    text = sketch(schema, "sketched", operators="ops", opwright="ow")
    assert max(map(len, text.splitlines()[:-3])) <= 100 or "samples" in text
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    (decorator,) = function.decorator_list
    assert isinstance(decorator, ast.Call)
    assert ast.literal_eval(decorator.args[0]) == str(schema)
    given = function.args
    assert [a.arg for a in (*given.args, *given.kwonlyargs)] == [a.name for a in schema.arguments]


def test_defaults_of_a_sketch() -> None:
    text = "s(Tensor x, int[2] pad=0, str mode='a b', *, bool? keep=None, ScalarType? d=None) -> ()"
    sketched = sketch(parse_schema(text, where=""), "s", operators="ops", opwright="ow")
    assert 'def s(x, pad=(0, 0), mode="a b", *, keep=None, d=None):' in sketched
