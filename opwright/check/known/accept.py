"""Entries of the ledger for what fails now, each with a reason that is still to be written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from opwright.check.known.errors import LedgerFileError
from opwright.check.known.ledger import entries_of
from opwright.command_line.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from opwright.check.known.failures import Failure

__all__ = ["accept", "write_accepted"]

HEAD = """\
# Known failures of `opwright check`: they do not fail a run. Each has a reason; an entry without
# one is refused. An entry for what passes is reported, and fails the run until it is removed.
"""


def accept(file: Path, failures: Sequence[Failure], *, columns: Mapping[str, Sequence[str]]) -> int:
    """Add entries for failures to a ledger, which may be there already.

    Returns
    -------
    count
        How many were added.

    Raises
    ------
    LedgerFileError
        OPW-C021: it cannot be read or written, or is such that nothing can be added.
    """
    entries = write_accepted(failures, columns=columns)
    if not entries:
        return 0
    try:
        old = file.read_text(encoding="utf-8") if file.exists() else HEAD
    except (OSError, UnicodeDecodeError) as error:
        raise LedgerFileError(where=str(file), got=str(error)) from error
    text = "\n".join([old if old.endswith("\n") or not old else f"{old}\n", *entries])
    entries_of(text, where=str(file), lenient=True)
    try:
        write_atomically(file, text, force=True)
    except OSError as error:
        raise LedgerFileError(where=str(file), got=str(error)) from error
    return len(entries)


def write_accepted(
    failures: Iterable[Failure], *, columns: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return entries for failures; one where all columns of a row fail in the same way."""
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for each in failures:
        operator, row, column, kind = each.key
        failing = grouped.setdefault((operator, row, kind), [])
        if column not in failing:
            failing.append(column)
    return [
        entry_text(operator, f"{row}/{kind}", column)
        for (operator, row, kind), failing in grouped.items()
        for column in ([None] if set(failing) == set(columns.get(row, ())) else failing)
    ]


def entry_text(operator: str, row: str, column: str | None) -> str:
    """Return an entry."""
    lines = ["[[known]]", f"operator = {quote(operator)}", f"row = {quote(row)}"]
    if column is not None:
        lines.append(f"column = {quote(column)}")
    lines.append('reason = ""  # say why this is accepted: until then the file is refused')
    return "\n".join(lines) + "\n"


def quote(text: str) -> str:
    """Return a text as TOML has it; JSON does not escape DEL, which TOML demands."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
