"""Which operators and rows a user asks for, and the list of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from opwright.check.errors import UnknownColumnError, UnknownOperatorError, UnknownRowOptionError
from opwright.errors import sort_nearest_first, write_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from opwright.check.record import CheckedOperator, CheckedRow

__all__ = ["choose_operators", "choose_rows", "is_named", "list_text"]

MOST_SHOWN = 12  # names in a message


def choose_rows(rows: Sequence[CheckedRow], names: Sequence[str]) -> tuple[CheckedRow, ...]:
    """Return the rows to run, with the columns to run.

    Raises
    ------
    UnknownRowOptionError, UnknownColumnError
        OPW-C007, OPW-C008.
    """
    if not names:
        return tuple(rows)
    known = {row.name: row for row in rows}
    wanted: dict[str, list[str]] = {}
    for given in names:
        name, _, column = given.partition("/")
        if name not in known:
            raise UnknownRowOptionError(where="--row", got=repr(given), allowed=known, near=name)
        columns = known[name].columns
        if column and column not in columns:
            raise UnknownColumnError(
                where="--row", got=repr(given), allowed=[f"{name}/{each}" for each in columns]
            )
        wanted.setdefault(name, []).extend([column] if column else columns)
    return tuple(
        replace(row, columns=tuple(each for each in row.columns if each in wanted[name]))
        for name, row in known.items()
        if name in wanted
    )


def choose_operators(
    operators: Sequence[CheckedOperator], names: Sequence[str]
) -> tuple[CheckedOperator, ...]:
    """Return the operators to check; a name may lack its namespace.

    Raises
    ------
    UnknownOperatorError
        OPW-C006.
    """
    if not names:
        return tuple(operators)
    for given in names:
        if not any(is_named(each.name, given) for each in operators):
            known = [each.name for each in operators]
            if "::" not in given:
                known = [each.partition("::")[2] for each in known]
            raise UnknownOperatorError(
                where="--op", got=repr(given), allowed=sort_nearest_first(given, known)[:MOST_SHOWN]
            )
    return tuple(each for each in operators if any(is_named(each.name, given) for given in names))


def is_named(name: str, given: str) -> bool:
    """Return whether a user's name is that of an operator.

    >>> is_named("my::add.scalar", "add.scalar"), is_named("my::add.scalar", "my::add")
    (True, True)
    """
    return given in {form for full in (name, name.partition(".")[0]) for form in forms(full)}


def forms(name: str) -> tuple[str, str]:
    """Return a name with and without its namespace."""
    return name, name.partition("::")[2]


def list_text(
    operators: Sequence[CheckedOperator],
    rows: Sequence[CheckedRow],
    applies: Iterable[Sequence[str | None]],
) -> str:
    """Return the operators, rows and columns that a run would have."""
    reasons = {(name, row): why for name, row, why in applies}
    lines = [f"{write_count(len(rows), 'row')}:"]
    lines += [f"  {row.name}  [{', '.join(row.columns)}]  {row.title}" for row in rows]
    lines.append(f"{write_count(len(operators), 'operator')}:")
    for each in operators:
        lines.append(f"  {each.name}  {each.place}")
        for row in rows:
            why = reasons.get((each.name, row.name))
            if why is not None:
                lines.append(f"    not {row.name}: {why}")
    return "\n".join(lines)
