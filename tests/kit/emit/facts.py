"""Declarations of the emitters' tests -> facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.derive import derive
from opwright.kit.emit import EmitOptions
from opwright.project.config import Project, load_operators
from opwright.project.lazy_torch import lazy_torch

if TYPE_CHECKING:
    from pathlib import Path

    from opwright.kit.derive import SetFacts

__all__ = ["facts_of", "facts_of_text"]


def facts_of(file: Path) -> SetFacts:
    """Return the facts of a declaration."""
    project = Project(
        root=file.parent, declaration=file, options=EmitOptions(package=file.stem, torch="2.13")
    )
    with lazy_torch():
        return derive(load_operators(project).freeze())


def facts_of_text(folder: Path, text: str) -> SetFacts:
    """Return the facts of a declaration that is written for one test."""
    file = folder / "declared.py"
    file.write_text(f"import opwright as ow\nops = ow.OperatorSet('declared')\n{text}")
    return facts_of(file)
