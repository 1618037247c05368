"""Shared by the tests of emitted C++."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from opwright.kit.emit import EmitOptions
from opwright.kit.emit.cpp import emit_cpp
from tests.kit.emit.facts import facts_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DECLARATIONS", "NAMES", "files_of", "write_files"]

DECLARATIONS = Path(__file__).parent / "declarations"
NAMES = ("classic", "stable")


def files_of(name: str) -> Mapping[str, str]:
    """Return the C++ of a declaration of this folder."""
    options = EmitOptions(package="demo", torch="2.13", stable_abi=name == "stable")
    return emit_cpp(facts_of(DECLARATIONS / f"{name}.py"), options)


def write_files(files: Mapping[str, str], folder: Path) -> None:
    """Write emitted files."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
