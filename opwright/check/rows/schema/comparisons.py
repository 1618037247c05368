"""The schema beside that of the declaration, and that of the last release."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from opwright.check.finding import Kind
from opwright.check.known.released import FILE, read_releases, release_folder
from opwright.check.observe.registrations import find_registered, neighbour, schema_text
from opwright.internals import jit
from opwright.kit.declare.errors import SchemaError
from opwright.kit.declare.schema_text import parse_schema
from opwright.kit.live import dispatcher
from opwright.kit.live.existing import make_comparable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject
    from opwright.kit.declare.schema import Alias, Schema

__all__ = ["CHANGED", "DECLARED", "REMOVED", "compare_declared", "compatibility", "place"]

DECLARED = Kind(
    "not-as-declared",
    "the library registers another schema than the declaration says",
    "correct the declaration, or the library",
)
CHANGED = Kind(
    "incompatible",
    "calls that worked with the last release no longer work",
    "keep what was released and add new arguments last, with defaults; or release a major version",
)
REMOVED = Kind(
    "removed",
    "an operator of the last release is gone",
    "keep it as deprecated; or release a major version",
)


def place(subject: Subject) -> str:
    """Return where the schema stands: of a foreign operator, where its library defines it."""
    return (subject.is_foreign and find_registered(subject.name).place) or subject.place


def compare_declared(context: RowContext, schema: object) -> Iterator[Finding]:
    """Find what a described operator has otherwise than its declaration says."""
    subject = context.subject
    if not subject.is_foreign or subject.facts is None:
        return
    there = parse(schema_text(schema), subject)
    if there is not None and letter_aliases(there) != letter_aliases(subject.schema):
        yield context.finding(
            DECLARED,
            expected=str(subject.schema),
            got=str(there),
            fix=f"declare it as {there}, if the library is right",
        )


def letter_aliases(schema: Schema) -> Schema:
    """Return a schema in which spelling makes no difference: alias sets are named in order."""
    found = [each.alias for each in schema.arguments] + [each.alias for each in schema.results]
    given = [each.name for each in found if each is not None]
    letters = {name: str(index) for index, name in enumerate(dict.fromkeys(given))}

    def named(alias: Alias | None) -> Alias | None:
        return alias and dataclasses.replace(alias, name=letters[alias.name])

    plain = make_comparable(schema)
    return dataclasses.replace(
        plain,
        arguments=tuple(dataclasses.replace(a, alias=named(a.alias)) for a in plain.arguments),
        results=tuple(dataclasses.replace(r, alias=named(r.alias)) for r in plain.results),
    )


def parse(text: str, subject: Subject) -> Schema | None:
    """Return a schema, if opwright can read it."""
    try:
        return parse_schema(text.partition("::")[2], where=subject.where)
    except SchemaError:
        return None


def compatibility(context: RowContext, schema: object) -> Iterator[Finding]:
    """Find what callers of the last release can no longer call."""
    subject = context.subject
    folder = release_folder(subject.operator.place.file)
    release = read_releases(folder).get(subject.namespace)
    if release is None:
        return
    context.details["released"] = f"version {release.version} in {folder / FILE}"
    version = None if subject.of_set is None else subject.of_set.declaration.version
    if version is not None and major(version) > major(release.version):
        return
    old = release.schemas.get(subject.name)
    if old is not None and not is_compatible(schema_text(schema), old, subject):
        changes = find_changes(parse(old, subject), parse(schema_text(schema), subject))
        yield context.finding(
            CHANGED,
            expected=f"what takes the calls of {old}, released in {release.version}",
            got=f"{schema}{''.join(f'; {each}' for each in changes)}",
            place=place(subject),
            script=(
                f"old = torch._C.parse_schema({old!r})",
                "assert operator._schema.is_backward_compatible_with(old)",
            ),
        )
    there = operators(subject)
    for name in sorted(release.schemas.keys() - there):
        if neighbour(name, there) == subject.name:
            yield context.finding(
                REMOVED,
                expected=f"{name}, released in {release.version}",
                got="no operator of this name",
                place=subject.place if subject.facts is None else declaration_place(subject),
            )


def operators(subject: Subject) -> set[str]:
    """Return the operators that are checked together, with namespace."""
    if subject.of_set is None:
        return set(dispatcher.names_in(subject.namespace))
    declared_ones = [each for each in subject.of_set.operators if each.role == "declared"]
    return {f"{subject.namespace}::{each.operator.name}" for each in declared_ones}


def declaration_place(subject: Subject) -> str:
    """Return where the operator set is declared."""
    assert subject.of_set is not None
    return str(subject.of_set.declaration.place)


def major(version: str) -> int:
    """Return the major version."""
    first = version.partition(".")[0]
    return int(first) if first.isdigit() else 0


def is_compatible(new: str, old: str, subject: Subject) -> bool:
    """Return whether a schema takes all calls of an older one, by torch's rule."""
    parse: Any = jit.parse_schema
    now, before = (parse(remove_names(each, subject)) for each in (new, old))
    compatible: bool = now.is_backward_compatible_with(before)
    return compatible


def remove_names(text: str, subject: Subject) -> str:
    """Return a schema without names of results, which callers do not see."""
    schema = parse(text, subject)
    if schema is None:
        return text
    results = tuple(dataclasses.replace(each, name=None) for each in schema.results)
    return f"{subject.namespace}::{dataclasses.replace(schema, results=results)}"


def find_changes(old: Schema | None, new: Schema | None) -> Iterator[str]:
    """Yield what differs, for a reader."""
    if old is None or new is None:
        return
    for index, was in enumerate(old.arguments):
        now = new.argument(was.name)
        if now is None:
            yield f"{was.name!r} is gone"
        elif str(now) != str(was):
            yield f"'{was}' became '{now}'"
        elif now.keyword_only != was.keyword_only:
            yield f"{was.name!r} became {'keyword-only' if now.keyword_only else 'positional'}"
        elif not was.keyword_only and new.arguments.index(now) != index:
            yield f"{was.name!r} has moved"
    for now in new.arguments:
        if old.argument(now.name) is None and now.default is None:
            yield f"{now.name!r} is new and has no default"
    were, are = ([f"{r.type}{r.alias or ''}" for r in s.results] for s in (old, new))
    if were != are:
        yield f"results ({', '.join(were)}) became ({', '.join(are)})"
