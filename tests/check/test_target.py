"""A user's target -> the operators: each kind of target, and the errors of others."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401 - before torch, which loads torch_npu

# isort: split
import torch_npu  # noqa: F401

from opwright.check.errors import (
    ImportFailedError,
    LibraryError,
    NoOperatorsError,
    TargetError,
)
from opwright.check.request import Request
from opwright.check.target import read_target
from opwright.project.errors import DeclarationFileError, NoProjectError

if TYPE_CHECKING:
    from opwright.check.target import Target
    from opwright.errors import OpwrightError

pytestmark = pytest.mark.twin

HERE = Path(__file__).parent
# Text, as what else is written below: each is a file of a user, loaded once, under its own name.
DECLARATION = """
    import opwright as ow

    ops = ow.OperatorSet("{namespace}")


    @ops.operator("rescale(Tensor x, float by=2.0) -> Tensor", samples=[ow.sample(x=ow.tensor(3))])
    def rescale(x, by=2.0):
        return x * by


    @ops.operator("shift_(Tensor(a!) x) -> Tensor(a!)", samples=[ow.sample(x=ow.tensor(3))])
    def shift_(x):
        return x.add_(1)
"""


@pytest.fixture(scope="module")
def library() -> str:
    """Load the library once; it cannot be loaded twice in a process."""
    read_target(Request(target="checked_library", load=(str(HERE / "targets" / "library.py"),)))
    return "checked_library"


def names(target: Target) -> list[str]:
    return [each.name for each in target.subjects]


def declare(folder: Path, namespace: str, file: str = "operators.py") -> Path:
    path = folder / file
    path.write_text(dedent(DECLARATION).format(namespace=namespace), encoding="utf-8")
    return path


def test_a_declaration_file(tmp_path: Path) -> None:
    path = declare(tmp_path, "target_file")
    target = read_target(Request(target=str(path)))
    assert names(target) == ["target_file::rescale", "target_file::shift_"]
    assert {each.is_foreign for each in target.subjects} == {False}
    assert target.subjects[0].place == f"{path}:7"


def test_a_projects_folder(tmp_path: Path) -> None:
    declare(tmp_path, "target_project")
    text = '[tool.opwright]\ndeclaration = "operators.py"\npackage = "target_project"\n'
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    target = read_target(Request(target=str(tmp_path)))
    assert names(target) == ["target_project::rescale", "target_project::shift_"]


def test_a_module_that_declares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(tmp_path, "target_module", "target_module_file.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    target = read_target(Request(target="target_module_file"))
    assert names(target) == ["target_module::rescale", "target_module::shift_"]


def test_a_package_that_registers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
        import torch

        library = torch.library.Library("target_package", "DEF")
        library.define("f(Tensor x, int[2] size, Tensor? y=None) -> (Tensor, Tensor)")
        library.define("f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
        library.define("g(Any x) -> Tensor")
    """
    (tmp_path / "target_package.py").write_text(dedent(code), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    target = read_target(Request(target="target_package"))
    assert names(target) == ["target_package::f", "target_package::f.out"]
    assert {each.facts for each in target.subjects} == {None}
    assert target.subjects[0].place.endswith("target_package.py:4")
    assert [name for name, _ in target.unreadable] == ["target_package::g"]


def test_a_file_that_registers(tmp_path: Path) -> None:
    path = tmp_path / "registers.py"
    code = """
        import torch

        library = torch.library.Library("target_registers", "DEF")
        library.define("f(Tensor x) -> Tensor")
    """
    path.write_text(dedent(code), encoding="utf-8")
    target = read_target(Request(target=str(path)))
    assert names(target) == ["target_registers::f"]
    assert target.subjects[0].place == f"{path}:4"


def test_a_namespace_of_a_loaded_library(library: str) -> None:
    target = read_target(Request(target=library))
    assert names(target) == [f"{library}::{name}" for name in ("halve", "halve_into", "twofold")]
    twofold = target.subjects[2]
    assert (twofold.facts, twofold.is_foreign) == (None, True)
    assert twofold.place == f"{HERE / 'targets' / 'library.py'}:7"


def test_a_declaration_describes_a_part(library: str) -> None:
    target = read_target(
        Request(target=library, declaration=str(HERE / "targets" / "described.py"))
    )
    assert names(target) == [f"{library}::{name}" for name in ("twofold", "halve", "halve_into")]
    twofold, halve, _ = target.subjects
    assert twofold.reference is not None
    assert twofold.is_foreign
    assert halve.facts is None


def test_a_description_alone_is_a_target(library: str) -> None:
    target = read_target(Request(target=str(HERE / "targets" / "described.py")))
    assert names(target) == [f"{library}::twofold"]


ABSENT = """
import opwright as ow

ops = ow.OperatorSet("aten", existing=True)
ops.declare("addd(Tensor x) -> Tensor")
"""
REFUSED = {
    "no namespace": ("chekced_library", TargetError, "'chekced_library'"),
    "a module without operators": ("json.decoder", NoOperatorsError, "no operator set"),
    "a file without operators": ("FILE:x = 1", NoOperatorsError, "no operator set"),
    "a file that raises": ("FILE:x = 1 / 0", DeclarationFileError, "division by zero"),
    "a file that would end": ("FILE:raise SystemExit(0)", DeclarationFileError, "SystemExit"),
    "a folder without a project": ("FOLDER", NoProjectError, "without pyproject.toml"),
    "a library that is none": ("FILE.so:text", LibraryError, "FILE.so"),
    "an operator that is not there": (
        f"FILE:{ABSENT}",
        NoOperatorsError,
        "no operator of this name",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_target_is_refused(case: str, tmp_path: Path, library: str) -> None:
    del library
    given, error, text = REFUSED[case]
    kind, colon, content = given.partition(":")
    path = tmp_path / ("FILE.so" if kind == "FILE.so" else "FILE.py")
    if colon:
        path.write_text(content, encoding="utf-8")
    target = str(tmp_path) if kind == "FOLDER" else str(path) if colon else given
    with pytest.raises(error) as caught:
        read_target(Request(target=target))
    raised: OpwrightError = caught.value
    assert text in str(raised)


def test_nearest_names_are_reported(library: str) -> None:
    with pytest.raises(TargetError) as caught:
        read_target(Request(target="chekced_library"))
    assert caught.value.allowed[0] == library


def test_a_module_that_raises_is_reported_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "target_raises.py").write_text("x = 1\nraise KeyError('k')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ImportFailedError) as caught:
        read_target(Request(target="target_raises"))
    assert "target_raises.py:2" in caught.value.where
    assert "KeyError" in caught.value.got
    assert "target_raises" not in sys.modules


def test_a_library_that_is_none_is_reported_with_the_loaders_reason(tmp_path: Path) -> None:
    file = tmp_path / "no_elf.so"
    file.write_text("text that is as long as a header " * 9, encoding="utf-8")
    with pytest.raises(LibraryError) as caught:
        read_target(Request(target=str(file)))
    assert "invalid ELF header" in caught.value.got


def test_a_declaration_may_change_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    file = declare(tmp_path, "clears_path")
    text = file.read_text(encoding="utf-8")
    file.write_text(f"import sys\n{text}\nsys.path.remove({str(tmp_path)!r})\n", encoding="utf-8")
    assert len(read_target(Request(target=str(file))).subjects) == 2
