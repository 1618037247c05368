"""Versions of torch: op-plugin's lists and ranges <-> version specifiers (PEP 440).

op-plugin names minor versions (`v2.6`) and knows those of its `all_version`. A set of them is said
exactly by bounds and exclusions: `>=2.1,<2.9,!=2.5.*`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from opwright.kit.formats.errors import VersionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.kit.formats.yaml_text import Value

__all__ = [
    "Minor",
    "every",
    "minor",
    "read_versions",
    "select",
    "specifier",
    "write_name",
    "write_versions",
]

Minor: TypeAlias = tuple[int, int]

NAME = re.compile(r"v?(\d+)\.(\d+)(?:\.\d+)?")
CLAUSE = re.compile(r"\s*(>=|<=|==|!=|~=|>|<)\s*v?(\d+)\.(\d+)(?:\.(\d+|\*))?\s*")
# The last minor version of each series of torch that has ended.
ENDED = {0: 4, 1: 13}


def minor(text: str, *, where: str) -> Minor:
    """Read the name of a minor version."""
    match = NAME.fullmatch(text.strip())
    if match is None:
        raise VersionError(where=where, got=repr(text))
    return int(match[1]), int(match[2])


def write_name(version: Minor) -> str:
    """Write the name of a minor version as op-plugin does."""
    return f"v{version[0]}.{version[1]}"


def find_next(version: Minor) -> Minor:
    """Return the next minor version."""
    last = ENDED.get(version[0])
    return (version[0] + 1, 0) if version[1] == last else (version[0], version[1] + 1)


def read_versions(value: Value, known: Sequence[Minor], *, where: str) -> tuple[Minor, ...]:
    """Read the versions of an entry.

    Parameters
    ----------
    value
        `all_version`, names between commas, or the two ends of a range; None for no version.
    known
        The versions that the file names as `all_version`.

    Raises
    ------
    VersionError
        OPW-S003.
    """
    if value is None:
        return ()
    if value == "all_version":
        return tuple(known)
    if isinstance(value, str):
        return tuple(minor(name, where=where) for name in value.split(",") if name.strip())
    if isinstance(value, tuple) and len(value) == 2:  # noqa: PLR2004 - a range has two ends
        first, last = (str(end) for end in value)
        start = minor(first, where=where)
        stop = known[-1] if last == "newest" and known else minor(last, where=where)
        return tuple(version for version in known if start <= version <= stop)
    raise VersionError(where=where, got=repr(value))


def specifier(versions: Sequence[Minor]) -> str:
    """Return the specifier of some minor versions.

    Examples
    --------
    >>> specifier([(2, 1), (2, 2), (2, 4)])
    '>=2.1,<2.5,!=2.3.*'
    """
    ordered = sorted(set(versions))
    if not ordered:
        return "<0"
    first, stop = ordered[0], find_next(ordered[-1])
    clauses = [f">={first[0]}.{first[1]}", f"<{stop[0]}.{stop[1]}"]
    version = first
    while version != stop:
        if version not in ordered:
            clauses.append(f"!={version[0]}.{version[1]}.*")
        version = find_next(version)
    return ",".join(clauses)


def select(text: str, known: Sequence[Minor], *, where: str) -> tuple[Minor, ...]:
    """Return the minor versions that a specifier allows.

    Examples
    --------
    >>> select(">=2.2", [(2, 1), (2, 2), (2, 3)], where="example")
    ((2, 2), (2, 3))
    """
    clauses = []
    for part in text.split(","):
        match = CLAUSE.fullmatch(part)
        if match is None and part.strip() != "<0":
            raise VersionError(
                where=where,
                got=repr(text),
                fix="write a specifier of minor versions, for example >=2.6,<2.14",
            )
        if match is None:
            return ()
        clauses.append((match[1], (int(match[2]), int(match[3])), match[4]))
    return tuple(
        version for version in known if all(is_allowed(*clause, version) for clause in clauses)
    )


def is_allowed(operator: str, bound: Minor, patch: str | None, version: Minor) -> bool:
    """Whether some release of a minor version fulfils a clause."""
    match operator:
        case ">=":
            return version >= bound
        case ">":
            return version >= bound if patch not in {None, "*"} else version > bound
        case "<":
            return version <= bound if patch not in {None, "*", "0"} else version < bound
        case "<=":
            return version <= bound
        case "==":
            return version == bound
        case "!=":
            return version != bound or patch not in {None, "*"}
        case _:  # ~=
            return version == bound if patch else version >= bound and version[0] == bound[0]


def every(text: str, newest: Minor, *, where: str) -> tuple[Minor, ...]:
    """Return all minor versions of torch that a specifier allows, up to a newest one."""
    version, found = (1, 0), []
    while version <= newest:
        found.append(version)
        version = find_next(version)
    match = re.search(r"<\s*=?\s*(\d+)\.(\d+)", text)
    stop = (int(match[1]), int(match[2])) if match else newest
    while version <= stop:
        found.append(version)
        version = find_next(version)
    return select(text, found, where=where)


def write_versions(versions: Sequence[Minor], known: Sequence[Minor]) -> Value:
    """Write versions as op-plugin does: all_version, a range if it is one, else a list."""
    if tuple(versions) == tuple(known):
        return "all_version"
    inside = [version for version in known if versions and versions[0] <= version <= versions[-1]]
    if list(versions) == inside and len(inside) > 1:
        last = "newest" if versions[-1] == known[-1] else write_name(versions[-1])
        return (write_name(versions[0]), last)
    return ", ".join(map(write_name, versions))
