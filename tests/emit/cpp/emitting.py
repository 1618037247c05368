"""What the tests of emitted C++ share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from opwright.derive import derive
from opwright.emit import EmitOptions
from opwright.emit.cpp import emit_cpp
from opwright.project.config import Project, load_operators
from opwright.project.lazy_torch import lazy_torch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.derive import SetFacts

__all__ = ["DECLARATIONS", "NAMES", "facts_of", "facts_of_text", "files_of", "write_files"]

DECLARATIONS = Path(__file__).parent / "declarations"
NAMES = ("classic", "stable")


def facts_of(file: Path) -> SetFacts:
    """Return the facts of a declaration."""
    project = Project(root=file.parent, declaration=file, options=EmitOptions(package=file.stem))
    with lazy_torch():
        return derive(load_operators(project).freeze())


def facts_of_text(folder: Path, text: str) -> SetFacts:
    """Return the facts of a declaration that is written for one test."""
    file = folder / "declared.py"
    file.write_text(f"import opwright as ow\nops = ow.OperatorSet('declared')\n{text}")
    return facts_of(file)


def files_of(name: str) -> Mapping[str, str]:
    """Return the C++ of a declaration of this folder."""
    options = EmitOptions(package="demo", stable_abi=name == "stable")
    return emit_cpp(facts_of(DECLARATIONS / f"{name}.py"), options)


def write_files(files: Mapping[str, str], folder: Path) -> None:
    """Write emitted files."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
