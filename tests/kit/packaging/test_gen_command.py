"""`opwright gen`: what it writes, what it says, and its exit codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner

from opwright.kit.packaging.errors import EditedFilesError
from opwright.kit.packaging.gen_command import gen

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

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
    (tmp_path / "pyproject.toml").write_text(
        '[tool.opwright]\ndeclaration = "operators.py"\npackage = "my_ops"\n'
    )
    (tmp_path / "operators.py").write_text(DECLARATION)
    return tmp_path


def run(*arguments: str) -> Result:
    app = typer.Typer(add_completion=False)
    app.command()(gen)
    return CliRunner().invoke(app, arguments)


def test_everything_is_written_once(project: Path) -> None:
    first = run(str(project))
    assert first.exit_code == 0, first.output
    assert "write   generated/my_ops/api.py" in first.output
    assert "write   generated/csrc/operators.cpp" in first.output
    lines = run(str(project)).output.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("0 of ")


def test_sources_can_be_for_another_torch(project: Path) -> None:
    assert run(str(project), "--torch", "2.10").exit_code == 0
    text = (project / "generated" / "pyproject.toml").read_text()
    assert '"torch>=2.10,<2.11"' in text
    assert '"torch_npu>=2.10,<2.11"' in text


def test_check_writes_nothing_and_tells_what_would_change(project: Path) -> None:
    first = run(str(project), "--check")
    assert first.exit_code == 1
    assert not (project / "generated").exists()
    run(str(project))
    assert run(str(project), "--check").exit_code == 0
    (project / "operators.py").write_text(DECLARATION.replace("x * 2", "x + x"))
    changed = run(str(project), "--check")
    assert changed.exit_code == 1
    assert "write   generated/my_ops/_reference.py" in changed.output


def test_cpp_of_the_project_replaces_what_is_emitted(project: Path) -> None:
    (project / "csrc").mkdir()
    (project / "csrc/operators.cpp").write_text("// mine\n")
    run(str(project))
    assert (project / "generated/csrc/operators.cpp").read_text() == "// mine\n"


def test_an_edited_file_is_not_overwritten(project: Path) -> None:
    run(str(project))
    api = project / "generated/my_ops/api.py"
    api.write_text(api.read_text() + "# mine\n")
    (project / "operators.py").write_text(DECLARATION.replace("twice(Tensor", "thrice(Tensor"))
    result = run(str(project))
    assert isinstance(result.exception, EditedFilesError)
    assert result.exception.got == "my_ops/api.py"
    assert api.read_text().endswith("# mine\n")
