"""What the tests of the Python emitters share: declarations, and their emitted files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from opwright.derive import derive
from opwright.emit.options import EmitOptions
from opwright.emit.python import emit_python
from opwright.project.config import Project, load_operators
from opwright.project.lazy_torch import lazy_torch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.derive.facts import SetFacts

__all__ = ["DECLARATIONS", "STABLE", "facts_of", "facts_of_text", "files_of"]

# Declarations that are emitted for the stable ABI.
STABLE = frozenset({"thin"})
DECLARATIONS = Path(__file__).parent / "declarations"


def facts_of(file: Path) -> SetFacts:
    """Return the facts of a declaration."""
    options = EmitOptions(package=file.stem)
    project = Project(root=file.parent, declaration=file, options=options)
    with lazy_torch():
        return derive(load_operators(project).freeze())


def facts_of_text(folder: Path, text: str) -> SetFacts:
    """Return the facts of a declaration that is written for one test."""
    file = folder / "declared.py"
    file.write_text(f"import opwright as ow\nops = ow.OperatorSet('declared')\n{text}")
    return facts_of(file)


def files_of(name: str) -> Mapping[str, str]:
    """Return the Python files of a declaration of this folder."""
    facts = facts_of(DECLARATIONS / f"{name}.py")
    return emit_python(facts, EmitOptions(package=name, stable_abi=name in STABLE))
