"""What a user names -> the operators to check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.check.subject import Subject
from opwright.derive import derive
from opwright.project.config import operator_sets, run_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    from opwright.declare.operator_set import OperatorSet

__all__ = ["module_of_file", "subjects_of_module", "subjects_of_set"]


def module_of_file(file: Path) -> ModuleType:
    """Run a declaration file.

    Raises
    ------
    DeclarationFileError
        OPW-P003.
    """
    return run_file(file)


def subjects_of_module(module: ModuleType) -> list[Subject]:
    """Load the operator sets of a module and return their operators."""
    return [each for ops in operator_sets(module) for each in subjects_of_set(ops)]


def subjects_of_set(ops: OperatorSet) -> Iterator[Subject]:
    """Load a set and yield its declared operators.

    A set of operators that exist already describes them; what checks it does not complete it.
    """
    if not ops.existing:
        ops.load()
    facts = derive(ops.freeze())
    for each in facts.operators:
        if each.role == "declared":
            yield Subject(
                namespace=ops.namespace,
                operator=each.operator,
                facts=each,
                of_set=facts,
                is_foreign=ops.existing,
            )
