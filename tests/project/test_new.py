"""`opwright new`: what it makes, and that it makes all of it or nothing."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from opwright.errors import OpwrightError
from opwright.kit.derive import derive
from opwright.kit.validate import check
from opwright.pairs import installed_minor
from opwright.project import new
from opwright.project.config import load_operators, read_project
from opwright.project.errors import (
    CannotWriteError,
    FolderExistsError,
    NestedProjectError,
    ProjectNameError,
    UnknownTemplateError,
)
from opwright.project.lazy_torch import lazy_torch
from opwright.project.new import make_project
from opwright.project.template import TEMPLATES, find_template, operator_text
from tests.alone import alone, alone_command
from tests.twin.on_twin import ROOT, printed

if TYPE_CHECKING:
    from opwright.kit.declare.operator_set import OperatorSet

FILES = {
    *(".ci/run", ".gitignore", "Makefile", "README.md", "operators.py", "pyproject.toml"),
    "tests/test_operators.py",
}
FUNCTIONAL = TEMPLATES["functional"]


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def loaded(folder: Path) -> OperatorSet:
    with lazy_torch():
        return load_operators(read_project(folder))


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_project_is_complete_and_valid(tmp_path: Path, name: str) -> None:
    folder = make_project(tmp_path / "my_ops", TEMPLATES[name])
    assert files_in(folder) == FILES
    declaration = loaded(folder).freeze()
    assert check(declaration) == ()
    assert declaration.namespace == "my_ops"
    assert declaration.operators[0].name == TEMPLATES[name].operator
    (operator,) = declaration.operators
    assert operator.reference is not None
    assert operator.doc
    assert operator.backward is not None
    assert operator.samples
    assert operator.errors
    assert derive(declaration).operators[0].autograd is not None


@pytest.mark.parametrize("name", TEMPLATES)
def test_an_operator_is_at_most_25_lines(name: str) -> None:
    declaration = operator_text(TEMPLATES[name]).partition("@ops.operator")[2].rstrip()
    assert declaration.count("\n") + 1 <= 25 + 10 * (name == "multi-output")  # with its backward


@pytest.fixture(scope="module")
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


@pytest.mark.parametrize("name", TEMPLATES)
def test_ruff_and_mypy_find_nothing(tmp_path: Path, mypy_cache: Path, name: str) -> None:
    folder = make_project(tmp_path / "my_ops", TEMPLATES[name])
    mypy = ("mypy", "--cache-dir", str(mypy_cache))
    for command in (("ruff", "format", "--diff"), ("ruff", "check"), mypy):
        program = [sys.executable, "-m", *command]
        done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
        assert (command, done.returncode) == (command, 0), done.stdout + done.stderr


def test_no_placeholder_is_left(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "my_ops", FUNCTIONAL)
    assert [path for path in files_in(folder) if "{{" in (folder / path).read_text()] == []


def test_modes(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        folder = make_project(tmp_path / "my_ops", FUNCTIONAL)
    finally:
        os.umask(before)
    modes = {
        path: oct((folder / path).stat().st_mode & 0o777) for path in ("", ".ci/run", "Makefile")
    }
    assert modes == {"": "0o750", ".ci/run": "0o750", "Makefile": "0o640"}


@pytest.mark.parametrize(
    ("name", "got"),
    [
        ("class", "'class', a word of Python"),
        ("match", "'match', a word of Python"),
        ("namespace", "'namespace', a word of C++"),
        ("random", "'random', a module of Python itself"),
        ("aten", "'aten', a namespace of PyTorch or torch_npu"),
        ("npu", "'npu', a namespace of PyTorch or torch_npu"),
        ("torch", "'torch', a module that the project needs"),
        ("operators", "'operators', a module that the project needs"),
    ],
)
def test_names_that_are_taken(tmp_path: Path, name: str, got: str) -> None:
    with pytest.raises(ProjectNameError) as caught:
        make_project(tmp_path / name, FUNCTIONAL)
    assert str(caught.value) == (
        "OPW-P010 not a name for a project\n"
        "  where:   opwright new\n"
        f"  got:     {got}\n"
        f"  fix:     choose another, such as {name}_ops"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["my-ops", "1ops", "_ops", "öps", "my.ops", "my ops"])
def test_names_that_are_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(ProjectNameError, match="OPW-P010") as caught:
        make_project(tmp_path / name, FUNCTIONAL)
    assert caught.value.got == repr(name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["a file", "a folder", "an empty folder", "a symbolic link"])
def test_nothing_is_overwritten(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "my_ops"
    if kind == "a file":
        place.write_text("mine")
    elif kind == "a symbolic link":
        place.symlink_to(tmp_path / "nowhere")
    else:
        place.mkdir()
        if kind == "a folder":
            (place / "mine").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(FolderExistsError) as caught:
        make_project(place, FUNCTIONAL)
    assert (caught.value.id, caught.value.got) == ("OPW-P011", kind)
    assert sorted(tmp_path.rglob("*")) == before


def test_an_unknown_template() -> None:
    with pytest.raises(UnknownTemplateError) as caught:
        find_template("in_place", where="opwright new, --from")
    assert str(caught.value) == (
        "OPW-P012 unknown template\n"
        "  where:   opwright new, --from\n"
        "  got:     'in_place'\n"
        "  allowed: in-place, attention, functional, multi-output\n"
        "  fix:     use one of them"
    )


def test_no_parent(tmp_path: Path) -> None:
    with pytest.raises(CannotWriteError) as caught:
        make_project(tmp_path / "no" / "my_ops", FUNCTIONAL)
    assert (caught.value.id, caught.value.got) == ("OPW-P013", "no such folder")


def test_a_project_inside_another_is_refused(tmp_path: Path) -> None:
    outer = make_project(tmp_path / "outer", FUNCTIONAL)
    (outer / "deep").mkdir()
    before = files_in(outer)
    for place in (outer, outer / "deep"):
        with pytest.raises(NestedProjectError) as caught:
            make_project(place / "my_ops", FUNCTIONAL)
        assert (caught.value.id, caught.value.where) == ("OPW-P015", str(place / "my_ops"))
        assert caught.value.got == f"a place inside the project {outer}"
        assert "opwright add" in str(caught.value)
    assert files_in(outer) == before


@pytest.mark.parametrize("text", ["[project]\nname = 'other'\n", "[tool"])
def test_another_tool_s_folder_is_no_project(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    assert files_in(make_project(tmp_path / "my_ops", FUNCTIONAL)) == FILES


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere; a user cannot")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(CannotWriteError, match="OPW-P013"):
        make_project(tmp_path / "my_ops", FUNCTIONAL)


def make_on_a_full_disk(place: str) -> None:
    """Make a project; RLIMIT_FSIZE stands for the disk: a write beyond it fails inside a file."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
    make_or_print(place)


def make_or_print(place: str) -> None:
    """Make a project, and print whether there is one."""
    try:
        make_project(Path(place), FUNCTIONAL)
        print("made")  # noqa: T201 - read by the test
    except OpwrightError as error:
        print(error.id, error.got)  # noqa: T201 - read by the test


def test_a_full_disk(tmp_path: Path) -> None:
    # Bytecode would be cut off as well.
    done = alone(make_on_a_full_disk, str(tmp_path / "my_ops"), PYTHONDONTWRITEBYTECODE="1")
    assert printed(done).startswith("OPW-P013 [Errno 27] File too large")
    assert list(tmp_path.iterdir()) == []


class SlowTexts(dict[str, str]):
    """The texts of a project; the second one never comes."""

    def items(self) -> Any:  # noqa: ANN401 - of a dictionary
        """Yield the first text, say so, and wait to be killed."""
        yield "Makefile", "half"
        print("now", flush=True)  # noqa: T201 - read by the test
        time.sleep(600)


def make_slowly(place: str) -> None:
    """Make a project that is never complete."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(new, "project_texts", lambda *_: SlowTexts())
        make_project(Path(place), FUNCTIONAL)


def test_killed_in_between(tmp_path: Path) -> None:
    """A killed process leaves nothing under the name, and the next one cleans up behind it."""
    place = tmp_path / "my_ops"
    with subprocess.Popen(
        alone_command(make_slowly, str(place)), cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "now\n"
        (unfinished,) = tmp_path.iterdir()
        assert unfinished.name.startswith(".my_ops.")
        make_project(tmp_path / "other_ops", FUNCTIONAL)  # leaves a living one alone
        assert unfinished.exists()
        process.kill()
    assert not place.exists()
    make_project(place, FUNCTIONAL)
    assert {path.name for path in tmp_path.iterdir()} == {"my_ops", "other_ops"}


def make_when_asked(place: str) -> None:
    """Make a project when a line comes in."""
    print("ready", flush=True)  # noqa: T201 - read by the test
    sys.stdin.readline()
    make_or_print(place)


def test_two_at_once(tmp_path: Path) -> None:
    """One of them makes the project, the others get an error."""
    processes = [
        subprocess.Popen(
            alone_command(make_when_asked, str(tmp_path / "my_ops")),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    outcomes = sorted(process.communicate()[0].split()[0] for process in processes)
    assert outcomes == ["OPW-P011", "OPW-P011", "OPW-P011", "made"]
    assert files_in(tmp_path / "my_ops") == FILES
    assert [path.name for path in tmp_path.iterdir()] == ["my_ops"]


def test_make_setup_installs_the_torch_npu_of_the_wheel(tmp_path: Path) -> None:
    """opwright brings torch alone; which torch_npu fits is asked of the installed wheel."""
    make_project(tmp_path / "my_ops", FUNCTIONAL)
    text = (tmp_path / "my_ops" / "Makefile").read_text(encoding="utf-8")
    assert "--no-deps \"torch_npu==$$($@ -c '$(PAIR)').*\"" in text
    (program,) = re.findall(r"^PAIR := (.*)$", text, re.MULTILINE)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == installed_minor()
