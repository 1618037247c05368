"""A row of the matrix.

A row stands in a file of `rows` as the constant ROW; its module's docstring says what it proves and
how, and is the text of its page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from opwright.check.finding import Kind
    from opwright.check.processes.kinds import ProcessKind
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject

__all__ = ["Needs", "Row", "apply_always", "takes_tensors"]

# Why a row does not apply to an operator; None if it does.
Needs: TypeAlias = "Callable[[Subject], str | None]"


def apply_always(subject: Subject) -> str | None:
    """Say that a row applies to every operator."""
    del subject
    return None


def takes_tensors(subject: Subject) -> str | None:
    """Say that a row applies to operators with tensors among their arguments."""
    if any(argument.type.has_tensors for argument in subject.schema.arguments):
        return None
    return "no argument is a tensor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of the matrix.

    Parameters
    ----------
    name
        Lower-case words joined by underscores, as its module's.
    title
        What must hold.
    kinds
        The faults that it can find.
    run
        Examines the operator in the way that `context.column` names, and reports to the context.
    columns
        The ways to run that it has, each a cell: words joined by hyphens, without spaces.
    needs
        Why it does not apply.
    cost
        `high` for a row that compiles: it takes seconds for each operator.
    process
        The kind of the process that it runs in.
    """

    name: str
    title: str
    kinds: tuple[Kind, ...]
    run: Callable[[RowContext], None]
    columns: tuple[str, ...] = ("eager",)
    needs: Needs = apply_always
    cost: Literal["low", "high"] = "low"
    process: ProcessKind = "plain"
