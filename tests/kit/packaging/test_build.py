"""`opwright build`: where it writes, what it refuses, and what it says about its cache."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner

from opwright.kit.packaging.build import write_log
from opwright.kit.packaging.command import build
from opwright.kit.packaging.compile import Compiled, Library
from opwright.kit.packaging.errors import LeavesFolderError, StableAbiError, VersionPairError
from opwright.kit.packaging.message import CompilerFailure
from opwright.kit.packaging.toolchain import find_toolchain
from opwright.pairs import installed_minor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from typer.testing import Result

    from opwright.kit.packaging.compile import Builder

# Text: the file of a project that a test makes.
DECLARATION = """
import opwright as ow

ops = ow.OperatorSet("my_ops", version="1.0")

@ops.operator("twice(Tensor x) -> Tensor", dtypes="float32")
def twice(x):
    return x * 2
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "my_ops"
    root.mkdir()
    (root / "pyproject.toml").write_text(
        '[tool.opwright]\ndeclaration = "operators.py"\npackage = "my_ops"\n'
    )
    (root / "operators.py").write_text(DECLARATION)
    return root


def run(*arguments: str) -> Result:
    app = typer.Typer(add_completion=False)
    app.command()(build)
    return CliRunner().invoke(app, arguments)


def test_a_wheel_for_another_torch_needs_that_torch(project: Path) -> None:
    error = run(str(project), "--torch", "2.6").exception
    assert isinstance(error, VersionPairError)
    assert error.allowed == ("torch 2.6.*",)


def test_a_stable_wheel_needs_a_stable_abi_that_has_what_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    shim = tmp_path / "torch" / "include" / "torch" / "csrc" / "stable" / "c" / "shim.h"
    shim.parent.mkdir(parents=True)
    shim.write_text("AOTITorchError torch_call_dispatcher();\n")
    toolchain = find_toolchain(os.environ, installed_minor())
    older = dataclasses.replace(toolchain, torch=tmp_path / "torch")
    monkeypatch.setattr("opwright.kit.packaging.build.find_toolchain", lambda *_: older)
    error = run(str(project), "--stable-abi").exception
    assert isinstance(error, StableAbiError)
    assert "has no torch_stream_native_handle" in error.got


def test_a_linked_dist_is_not_followed(project: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (project / "dist").symlink_to(out)
    result = run(str(project), "--plugin")
    assert str(result.exception) == (
        "OPW-B023 a path leaves the folder that is written\n"
        f"  where:   {project / 'dist'}\n"
        f"  got:     a symbolic link to {out}\n"
        "  fix:     name the folder with -o, or replace the link by a folder; nothing was written"
    )
    assert not list(out.iterdir())
    assert run(str(project), "--plugin", "-o", str(project / "dist")).exit_code == 0
    assert [path.suffix for path in out.iterdir()] == [".whl"]


@pytest.mark.parametrize("link", ["plugin", "plugin/my_ops"])
def test_a_linked_plugin_is_not_followed(project: Path, tmp_path: Path, link: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (project / link).parent.mkdir(exist_ok=True)
    (project / link).symlink_to(out)
    result = run(str(project), "--plugin")
    assert isinstance(result.exception, LeavesFolderError)
    assert result.exception.where == str(project / link)
    assert not list(out.iterdir())


def test_the_log_follows_no_link(tmp_path: Path) -> None:
    failure = CompilerFailure(tmp_path / "a.cpp", ["g++"], 1, "wrong")
    target = tmp_path / "target"
    (tmp_path / "build").mkdir()
    (tmp_path / "build/compile.log").symlink_to(target)
    write_log(tmp_path / "build/compile.log", failure)
    assert not target.exists()
    assert (tmp_path / "build/compile.log").read_text() == "g++\n\nwrong"
    (tmp_path / "linked").symlink_to(tmp_path / "build")
    with pytest.raises(LeavesFolderError, match="OPW-B023"):
        write_log(tmp_path / "linked/compile.log", failure)


def test_what_was_damaged_is_reported(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "library"
    library.write_bytes(b"\x7fELF")

    def compiled(
        builder: Builder, units: Sequence[Path], jobs: int, done: Callable[[Compiled], None]
    ) -> tuple[Compiled, ...]:
        del builder, jobs, done
        return tuple(
            Compiled(
                source=unit,
                object=library,
                from_cache=False,
                was_damaged=unit.name == "operators.cpp",
                seconds=0.0,
            )
            for unit in units
        )

    monkeypatch.setattr("opwright.kit.packaging.build.compile_units", compiled)
    monkeypatch.setattr(
        "opwright.kit.packaging.build.link",
        lambda *_: Library(file=library, from_cache=False, was_damaged=True),
    )
    result = run(str(project), "--json")
    assert json.loads(result.output)["notes"][-2:] == [
        "operators.cpp: what the cache had of it was damaged; it was made again",
        "libmy_ops.so: what the cache had of it was damaged; it was made again",
    ]
