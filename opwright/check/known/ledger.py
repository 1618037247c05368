"""The ledger: failures that are known, each with its reason, in a TOML file.

```toml
[[known]]
operator = "my_ops::rescale_*"          # a name with namespace; * and ? stand for others
row = "numerics/wrong-values"         # a row, or a row and a kind
column = "eager"                      # may be left out: all columns
reason = "rounds to zero"             # why it is accepted
issue = "https://example.org/17"      # may be left out
version = "torch_npu<2.14"            # may be left out: only there it is known
```

A known failure does not fail a run. An entry for what a run found to pass does: it is out of date.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import tomli
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from opwright.check.known.errors import (
    EntryError,
    LedgerError,
    LedgerFileError,
    NoReasonError,
    StaleEntryError,
    UnknownRowError,
)
from opwright.check.known.failures import ENDINGS, failures
from opwright.check.record import KnownFailure
from opwright.kit.declare.place import Place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from opwright.check.known.failures import Failure
    from opwright.check.outcome import Outcome
    from opwright.check.record import CheckedRow
    from opwright.errors import OpwrightError

__all__ = [
    "FILE",
    "Entry",
    "Judgement",
    "check_entries",
    "default_ledger",
    "entries_of",
    "find_first",
    "judge_outcomes",
    "read_ledger",
]

# Beside the declaration.
FILE = "check.toml"
KEYS = ("operator", "row", "column", "reason", "issue", "version")
REQUIRED = ("operator", "row")
# Packages that a version can be of.
PACKAGES = ("opwright", "torch", "torch_npu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A known failure, or several that have one reason.

    Parameters
    ----------
    operator
        A pattern for names with namespace.
    kind, column
        None for all.
    version
        Where it is known; None for everywhere.
    """

    operator: str
    row: str
    kind: str | None
    column: str | None
    reason: str
    issue: str | None
    version: Requirement | None
    place: Place

    def has(self, failure: Failure) -> bool:
        """Return whether this is about a failure."""
        return self.has_cell(failure.outcome) and self.kind in (None, failure.kind)

    def has_cell(self, outcome: Outcome) -> bool:
        """Return whether this is about a cell."""
        return (
            outcome.row == self.row
            and self.column in (None, outcome.column)
            and fnmatchcase(outcome.operator, self.operator)
        )

    def is_here(self, versions: Mapping[str, str]) -> bool:
        """Return whether this is about these versions."""
        if self.version is None:
            return True
        version = versions.get(package_of(self.version))
        return version is not None and self.version.specifier.contains(version, prereleases=True)

    def __str__(self) -> str:
        row = self.row if self.kind is None else f"{self.row}/{self.kind}"
        return f"{self.operator} {row}" + ("" if self.column is None else f" [{self.column}]")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A ledger's verdict on outcomes: the known failures, and the entries whose cells pass."""

    known: tuple[KnownFailure, ...]
    unexpected: tuple[str, ...]


def default_ledger(target: str, *, is_wanted: bool = False) -> Path | None:
    """Return the ledger beside the declaration; None if there is none.

    Parameters
    ----------
    is_wanted
        Return where it would be, too.
    """
    path = Path(target)
    folder = path if path.is_dir() else path.parent
    if not path.exists():  # the name of a module or of a namespace
        folder = Path()
    file = folder / FILE
    return file if is_wanted or file.is_file() else None


def read_ledger(
    file: Path, *, operators: Collection[str], rows: Sequence[CheckedRow], lenient: bool = False
) -> tuple[Entry, ...]:
    """Read a ledger.

    Parameters
    ----------
    operators
        The names of all operators of the target, also of those that are not to be checked.
    rows
        All that there are.
    lenient
        Take entries whose reason is still to be written, as they are while more are accepted.

    Raises
    ------
    LedgerFileError
        OPW-C021: it cannot be read, or is not TOML with entries.
    LedgerError
        OPW-C026: all that is wrong with its entries.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LedgerFileError(where=str(file), got=str(error)) from error
    entries = entries_of(text, where=str(file), lenient=lenient)
    check_entries(entries, operators=operators, rows=rows, where=str(file))
    return entries


def entries_of(text: str, *, where: str, lenient: bool = False) -> tuple[Entry, ...]:
    """Read the entries of a ledger's text; the same errors as `read_ledger`."""
    try:
        content = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise LedgerFileError(where=where, got=str(error)) from error
    known = content.pop("known", [])
    if content:
        key = next(iter(content))
        raise LedgerFileError(where=where, got=f"key {key!r}", allowed=["known"])
    if not isinstance(known, list) or not all(isinstance(each, dict) for each in known):
        raise LedgerFileError(where=where, got=f"known = {known!r}")
    places = lines_of(text, len(known))
    entries: list[Entry] = []
    errors: list[OpwrightError] = []
    for values, line in zip(known, places, strict=True):
        found = list(faults(values, Place(where, line), lenient=lenient))
        errors += found
        if not found:
            entries.append(entry_of(values, Place(where, line)))
    if errors:
        raise LedgerError(where=where, errors=errors)
    return tuple(entries)


def lines_of(text: str, count: int) -> list[int]:
    """Return the lines of the headers of `count` entries; 0 for unknown ones.

    tomli does not return lines.
    """
    lines = text.splitlines(keepends=True)
    found = [at for at, line in enumerate(lines) if re.match(r"\s*\[\[\s*known\s*\]\]", line)]
    if len(found) != count:
        # One of them is in a text of several lines: what stands before it is no TOML.
        found = [at for at in found if is_toml("".join(lines[:at]))]
    return [at + 1 for at in found] if len(found) == count else [0] * count


def is_toml(text: str) -> bool:
    """Return whether a text is TOML."""
    try:
        tomli.loads(text)
    except tomli.TOMLDecodeError:
        return False
    return True


def faults(values: Mapping[str, object], place: Place, *, lenient: bool) -> Iterator[OpwrightError]:
    """Yield what is wrong with the form of an entry."""
    where = str(place)
    for key, value in values.items():
        if key not in KEYS:
            yield EntryError(where=where, got=f"key {key!r}", allowed=KEYS, near=key)
        elif not isinstance(value, str):
            yield EntryError(where=f"{where}, {key}", got=repr(value), fix="give a string")
    for key in REQUIRED:
        if not values.get(key):
            yield EntryError(where=where, got=f"no {key}", fix=f'add {key} = "..."')
    reason = values.get("reason", "")
    if isinstance(reason, str) and not reason.strip() and not lenient:
        got = "no reason" if "reason" not in values else f"reason = {reason!r}"
        yield NoReasonError(where=f"{where}, {values.get('operator')}", got=got)
    version = values.get("version")
    if isinstance(version, str) and not is_requirement(version):
        yield EntryError(
            where=f"{where}, version",
            got=repr(version),
            allowed=[f"{name}<2.14" for name in PACKAGES],
            fix="give a package and its versions",
        )


def is_requirement(text: str) -> bool:
    """Return whether a text gives versions of one of PACKAGES."""
    try:
        return package_of(Requirement(text)) in PACKAGES
    except InvalidRequirement:
        return False


def package_of(requirement: Requirement) -> str:
    """Return the package as PACKAGES has it."""
    return canonicalize_name(requirement.name).replace("-", "_")


def entry_of(values: Mapping[str, str], place: Place) -> Entry:
    """Return the entry of values that are as they must be."""
    row, _, kind = values["row"].partition("/")
    version = values.get("version")
    return Entry(
        operator=values["operator"],
        row=row,
        kind=kind or None,
        column=values.get("column"),
        reason=values.get("reason", "").strip(),
        issue=values.get("issue"),
        version=None if version is None else Requirement(version),
        place=place,
    )


def check_entries(
    entries: Iterable[Entry], *, operators: Collection[str], rows: Sequence[CheckedRow], where: str
) -> None:
    """Raise LedgerError (OPW-C026) for entries about rows or operators that are not there."""
    named = {each.name: each for each in rows}
    errors = [
        error
        for entry in entries
        for error in find_unknown_entries(entry, operators=operators, rows=named)
    ]
    if errors:
        raise LedgerError(where=where, errors=errors)


def find_unknown_entries(
    entry: Entry, *, operators: Collection[str], rows: Mapping[str, CheckedRow]
) -> Iterator[OpwrightError]:
    """Yield what an entry names that is not there."""
    where = f"{entry.place}, {entry.operator}"
    row = rows.get(entry.row)
    if row is None:
        yield UnknownRowError(where=where, got=f"row {entry.row!r}", allowed=rows, near=entry.row)
    else:
        kinds = [*row.kinds, *ENDINGS]
        if entry.kind is not None and entry.kind not in kinds:
            got = f"kind {entry.kind!r} of row {row.name}"
            yield UnknownRowError(where=where, got=got, allowed=kinds, near=entry.kind)
        if entry.column is not None and entry.column not in row.columns:
            got = f"column {entry.column!r} of row {row.name}"
            yield UnknownRowError(where=where, got=got, allowed=row.columns, near=entry.column)
    if not any(fnmatchcase(name, entry.operator) for name in operators):
        yield StaleEntryError(
            where=where,
            got=repr(entry.operator),
            allowed=operators,
            near=entry.operator,
        )


def judge_outcomes(
    outcomes: Iterable[Outcome],
    entries: Iterable[Entry],
    *,
    operators: Collection[str],
    columns: Mapping[str, Sequence[str]],
    versions: Mapping[str, str],
) -> Judgement:
    """Compare outcomes with a ledger.

    Parameters
    ----------
    operators
        The names of all operators of the target, also of those that were not checked.
    columns
        Row -> its columns.
    versions
        Of what took part, by name.
    """
    given = list(outcomes)
    here = [each for each in entries if each.is_here(versions)]
    found = [
        (failure, entry) for failure in failures(given) if (entry := find_first(here, failure))
    ]
    used = {id(entry) for entry in here for failure in failures(given) if entry.has(failure)}
    cells = {(each.operator, each.row, each.column): each for each in given}
    return Judgement(
        known=tuple(make_known_failure(failure, entry) for failure, entry in found),
        unexpected=tuple(
            f"{entry.place}: {entry}: {text}"
            for entry in here
            if id(entry) not in used
            and (text := describe_pass(entry, cells, operators, columns.get(entry.row, ())))
        ),
    )


def find_first(entries: Iterable[Entry], failure: Failure) -> Entry | None:
    """Return the first entry that has a failure."""
    return next((each for each in entries if each.has(failure)), None)


def make_known_failure(failure: Failure, entry: Entry) -> KnownFailure:
    """Return a known failure."""
    operator, row, column, kind = failure.key
    return KnownFailure(
        operator=operator,
        row=row,
        column=column,
        kind=kind,
        reason=entry.reason,
        issue=entry.issue,
    )


def describe_pass(
    entry: Entry,
    cells: Mapping[tuple[str, str, str], Outcome],
    operators: Iterable[str],
    columns: Iterable[str],
) -> str | None:
    """Say that all cells of an entry were run and none shows it; None if that is not so."""
    found = [
        cells.get((name, entry.row, column))
        for name in operators
        if fnmatchcase(name, entry.operator)
        for column in columns
        if entry.column in (None, column)
    ]
    ran = [each for each in found if each is not None]
    if len(ran) < len(found) or not ran:
        return None
    statuses = {each.status for each in ran}
    if statuses == {"not applicable"}:
        return f"is known to fail, but does not apply: {ran[0].reason}"
    if statuses <= {"passed", "failed", "not applicable"}:
        return "is known to fail, but passes"
    return None
