"""Shared by the tests of the Python emitters: declarations, and their emitted files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from opwright.kit.emit.options import EmitOptions
from opwright.kit.emit.python import emit_python
from tests.kit.emit.facts import facts_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DECLARATIONS", "STABLE", "files_of"]

# Declarations that are emitted for the stable ABI.
STABLE = frozenset({"thin"})
DECLARATIONS = Path(__file__).parent / "declarations"


def files_of(name: str) -> Mapping[str, str]:
    """Return the Python files of a declaration of this folder."""
    facts = facts_of(DECLARATIONS / f"{name}.py")
    return emit_python(facts, EmitOptions(package=name, torch="2.13", stable_abi=name in STABLE))
