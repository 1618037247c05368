"""The content of a project's pyproject.toml, and how its declaration is loaded."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from opwright.kit.declare.reserved import RESERVED_NAMESPACES
from opwright.pairs import installed_minor
from opwright.project.config import load_operators, read_project, retarget
from opwright.project.errors import (
    ConfigError,
    DeclarationFileError,
    NoProjectError,
    OperatorSetError,
    ProjectNameError,
    TorchVersionError,
)
from opwright.project.names import TAKEN
from opwright.project.new import check_name

if TYPE_CHECKING:
    from pathlib import Path

# Text: the file of a user, which tests edit.
DECLARATION = """
import opwright as ow
from helpers import SIZE

ops = ow.OperatorSet("my_ops", version="1.0")

@ops.operator("f(Tensor x) -> Tensor")
def f(x):
    return x * SIZE
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, 'declaration = "operators.py"\npackage = "my_ops"')
    (tmp_path / "operators.py").write_text(DECLARATION)
    (tmp_path / "helpers.py").write_text("SIZE = 2\n")
    return tmp_path


def write(root: Path, section: str) -> None:
    (root / "pyproject.toml").write_text(f"[tool.opwright]\n{section}\n")


def test_a_project_has_a_declaration_and_options(root: Path) -> None:
    write(
        root,
        'declaration = "operators.py"\npackage = "my_ops"\ntorch = "2.12"\nstable-abi = true',
    )
    project = read_project(root)
    assert project.package == "my_ops"
    assert project.options.torch == "2.12"
    assert project.options.stable_abi
    assert project.generated == root / "generated"


def test_without_a_version_the_sources_are_for_the_installed_torch(root: Path) -> None:
    assert read_project(root).options.torch == installed_minor()
    assert retarget(read_project(root), None) == read_project(root)


def test_a_project_can_be_for_another_torch(root: Path) -> None:
    assert retarget(read_project(root), "2.10").options.torch == "2.10"
    with pytest.raises(TorchVersionError, match=r"--torch\n.*2\.10\.0"):
        retarget(read_project(root), "2.10.0")


def test_the_operator_set_is_loaded_and_no_module_stays(root: Path) -> None:
    before, path = dict(sys.modules), list(sys.path)
    operators = load_operators(read_project(root))
    assert [operator.name for operator in operators.freeze().operators] == ["f"]
    assert not {"operators", "helpers"} & (sys.modules.keys() - before.keys())
    assert sys.path == path


def test_an_edit_is_seen_by_the_next_call(root: Path) -> None:
    project = read_project(root)
    load_operators(project)
    (root / "operators.py").write_text(DECLARATION.replace('"f(', '"g('))
    assert [o.name for o in load_operators(project).freeze().operators] == ["g"]


def test_a_folder_without_pyproject_is_no_project(tmp_path: Path) -> None:
    with pytest.raises(NoProjectError) as caught:
        read_project(tmp_path)
    assert str(caught.value) == (
        "OPW-P001 not a project\n"
        f"  where:   {tmp_path}\n"
        "  got:     a folder without pyproject.toml\n"
        "  fix:     go to the folder whose pyproject.toml has [tool.opwright], "
        "or make one with 'opwright new'"
    )


def test_a_folder_that_is_not_there_is_no_project(tmp_path: Path) -> None:
    with pytest.raises(NoProjectError, match="no such folder"):
        read_project(tmp_path / "missing")


def test_a_pyproject_of_something_else_is_no_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'a'\n")
    with pytest.raises(NoProjectError, match=r"no section \[tool.opwright\]"):
        read_project(tmp_path)


@pytest.mark.parametrize(
    ("section", "got"),
    [
        ('package = "a"', "no declaration"),
        ('declaration = "operators.py"', "no package"),
        ('declaration = "operators.py"\npackge = "a"\npackage = "a"', "key 'packge'"),
        ('declaration = "operators.py"\npackage = "a-b"', "'a-b'"),
        ('declaration = "operators.py"\npackage = "class"', "'class'"),
        ('declaration = "operators.py"\npackage = "a"\nstable-abi = 1', "1"),
        ('declaration = "operators.py"\npackage = "a"\ntorch = "2"', "'2'"),
        ("declaration = ", "Invalid value"),
    ],
)
def test_what_is_wrong_in_the_section_is_reported(root: Path, section: str, got: str) -> None:
    write(root, section)
    with pytest.raises(ConfigError) as caught:
        read_project(root)
    assert got in caught.value.got


@pytest.mark.parametrize(
    ("name", "got"),
    [
        *(
            (name, f"'{name}', a module that the project needs")
            for name in sorted(TAKEN - RESERVED_NAMESPACES)
        ),
        ("json", "'json', a module of Python itself"),
        ("aten", "'aten', a namespace of PyTorch or torch_npu"),
        ("match", "'match', a word of Python"),
        ("namespace", "'namespace', a word of C++"),
        ("../evil", "'../evil'"),
        ("my.ops", "'my.ops'"),
        ("öps", "'öps'"),
        ("_ops", "'_ops'"),
        ("", "''"),
    ],
)
def test_a_package_has_a_name_that_new_would_give(root: Path, name: str, got: str) -> None:
    write(root, f'declaration = "operators.py"\npackage = "{name}"')
    with pytest.raises(ConfigError) as caught:
        read_project(root)
    assert caught.value.where == f"{root / 'pyproject.toml'}, [tool.opwright], package"
    assert caught.value.got == got
    with pytest.raises(ProjectNameError) as named:
        check_name(name, where="opwright new")
    assert named.value.got == got


def test_a_declaration_that_is_not_there_is_reported(root: Path) -> None:
    (root / "operators.py").unlink()
    with pytest.raises(DeclarationFileError, match=r"no file 'operators\.py'"):
        read_project(root)


def test_a_declaration_that_raises_is_reported_with_its_line(root: Path) -> None:
    (root / "operators.py").write_text("import math\n\nmath.sqrt(-1)\n")
    with pytest.raises(DeclarationFileError) as caught:
        load_operators(read_project(root))
    assert caught.value.where == f"{root / 'operators.py'}:3"
    assert caught.value.got == "ValueError: math domain error"


@pytest.mark.parametrize(
    ("statement", "got"),
    [
        ("sys.exit(0)", "SystemExit: 0"),
        ("sys.exit()", "SystemExit"),
        ("sys.exit('done')", "SystemExit: done"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("raise BaseExceptionGroup('two', [SystemExit(0)])", "two (1 sub-exception)"),
    ],
)
def test_a_declaration_that_ends_the_process_is_reported(
    root: Path, statement: str, got: str
) -> None:
    (root / "operators.py").write_text(f"{DECLARATION}\nimport sys\n{statement}\n")
    with pytest.raises(DeclarationFileError) as caught:
        load_operators(read_project(root))
    assert caught.value.where == f"{root / 'operators.py'}:{DECLARATION.count(chr(10)) + 3}"
    assert got in caught.value.got


def test_an_interrupted_declaration_stays_interrupted(root: Path) -> None:
    (root / "operators.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load_operators(read_project(root))


def test_a_declaration_with_a_syntax_error_is_reported_with_its_line(root: Path) -> None:
    (root / "operators.py").write_text("x = 1\ny = (\n")
    with pytest.raises(DeclarationFileError) as caught:
        load_operators(read_project(root))
    assert caught.value.where == f"{root / 'operators.py'}:2"


@pytest.mark.parametrize("number", [0, 2])
def test_one_operator_set_is_needed(root: Path, number: int) -> None:
    sets = "".join(f'o{i} = ow.OperatorSet("o{i}")\n' for i in range(number))
    (root / "operators.py").write_text(f"import opwright as ow\n{sets}")
    with pytest.raises(OperatorSetError, match=f"{number} operator sets"):
        load_operators(read_project(root))
