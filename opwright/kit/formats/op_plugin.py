"""op-plugin's op_plugin_functions.yaml and derivatives.yaml -> declarations.

What a declaration has a field for becomes that field: `func` the schema, versions the specifier of
torch, `gen_opapi` the aclnn call and the rules of shapes and dtypes, derivatives the backward. The
rest is kept in `Operator.upstream`, and so is what `op_plugin_write` would write differently; so
writing gives the same YAML again, as long as nobody edits the declaration.

* An entry of the sections symint or autograd that repeats one of another section belongs to the
  same operator.
* An operator with several variants for different versions of torch is in several declarations: the
  first one has the newest variant of every operator.
* An operator without gen_opapi has a hand-written adapter; its aclnn function is not in the YAML.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.kit.declare.operator import Declaration, Operator, Source, Upstream
from opwright.kit.declare.place import Place
from opwright.kit.declare.schema_text import parse_schema
from opwright.kit.formats.derivatives import Derivative, read_derivatives
from opwright.kit.formats.entries import REPEATED, differences, flat_entry, make_canonical
from opwright.kit.formats.errors import EntryError, YamlError
from opwright.kit.formats.gen_opapi import Gen, inherit, read_gen
from opwright.kit.formats.imported import Imported, Note
from opwright.kit.formats.versions import Minor, minor, read_versions, specifier
from opwright.kit.formats.yaml_text import Located, flow, load_document

if TYPE_CHECKING:
    from opwright.kit.declare.schema import Schema
    from opwright.kit.formats.yaml_text import Value

__all__ = ["SECTIONS", "read_op_plugin"]

# The generator of op-plugin asks for all of these.
SECTIONS = ("official", "custom", "autograd", "symint", "quant")
# Entries of these sections may repeat an operator of another one.
REPEATING = frozenset({"symint", "autograd"})
VERSION_KEYS = ("op_api", "acl_op", "sparse")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry of the file.

    Parameters
    ----------
    repeated
        Entries of other sections for the same operator.
    """

    section: str
    place: Place
    schema: Schema
    values: Mapping[str, Value]
    versions: tuple[Minor, ...]
    repeated: tuple[Entry, ...] = ()

    @property
    def where(self) -> str:
        """The place and the operator, for messages."""
        return f"{self.place}, operator {self.schema.full_name}"


def read_op_plugin(
    functions: str | None,
    *,
    where: str,
    derivatives: str | None = None,
    derivatives_where: str = "derivatives.yaml",
    namespace: str,
    version: str = "0.1.0",
    versions: tuple[Minor, ...] = (),
) -> Imported:
    """Read the YAML files.

    Parameters
    ----------
    functions
        Text of op_plugin_functions.yaml, if there is one.
    where, derivatives_where
        The files, for places and error messages.
    derivatives
        Text of derivatives.yaml, if there is one.
    namespace, version
        Of the operator set.
    versions
        What all_version means where the file does not say it.

    Raises
    ------
    YamlError, EntryError, VersionError, SchemaError
        OPW-S001 to OPW-S003, OPW-D001.
    """
    document = load_document(functions, where=where) if functions is not None else {}
    known = read_known_versions(document, where=where) or versions
    entries = merge(read_entries(document, known, where=where))
    formulas: tuple[Derivative, ...] = ()
    if derivatives is not None:
        found, known_there = read_derivatives(derivatives, known, where=derivatives_where)
        formulas, known = found, known or known_there
    by_name = {entry.schema.full_name: entry for entry in entries}
    notes: list[Note] = []
    operators = [read_operator(entry, by_name, known, notes) for entry in entries]
    operators = with_derivatives(operators, formulas, known, notes)
    return Imported(
        kind="op-plugin's YAML",
        declarations=tuple(
            Declaration(
                namespace=namespace,
                version=version,
                place=Place(where if functions is not None else derivatives_where),
                source=Source(name=where.rpartition("/")[2]),
                torch=specifier(known) if known else None,
                operators=tuple(layer),
            )
            for layer in layers(operators, {e.place: e.versions for e in entries})
        ),
        notes=tuple(notes),
    )


def read_known_versions(
    document: Mapping[str, tuple[Located, ...] | Located], *, where: str
) -> tuple[Minor, ...]:
    """Read all_version."""
    given = document.get("all_version")
    if given is None:
        return ()
    located = given if isinstance(given, tuple) else (given,)
    names: list[Value] = []
    for item in located:
        names += item.value if isinstance(item.value, tuple) else [item.value]
    place = f"{where}:{located[0].line}, all_version" if located else where
    return tuple(sorted({minor(str(name), where=place) for name in names}))


def read_entries(
    document: Mapping[str, tuple[Located, ...] | Located], known: tuple[Minor, ...], *, where: str
) -> list[Entry]:
    """Read all entries in the order of the file."""
    entries = []
    for section, items in document.items():
        if section == "all_version":
            continue
        entries += [read_entry(section, item, known, where=where) for item in read_section(items)]
    return entries


def read_section(items: tuple[Located, ...] | Located) -> tuple[Located, ...]:
    """Return the entries of a section, which may be empty or stand on one line."""
    if not isinstance(items, Located):
        return items
    if items.value is None:
        return ()
    values = items.value if isinstance(items.value, tuple) else (items.value,)
    return tuple(Located(value, items.line) for value in values)


def read_entry(section: str, item: Located, known: tuple[Minor, ...], *, where: str) -> Entry:
    """Read one entry."""
    place = Place(where, item.line)
    values = item.value
    if not isinstance(values, Mapping) or not isinstance(values.get("func"), str):
        raise YamlError(
            where=f"{place}, section {section}",
            got=flow(values)[:80],
            fix="begin each entry with func: SCHEMA",
        )
    schema = parse_schema(str(values["func"]), where=str(place))
    at = f"{place}, operator {schema.full_name}"
    gen = values.get("gen_opapi")
    if gen is not None and not isinstance(gen, Mapping):
        raise EntryError(
            where=at, got=f"gen_opapi: {flow(gen)}", fix="write out, size, dtype and exec below it"
        )
    versions = {
        each
        for key in VERSION_KEYS
        for each in read_versions(values.get(key), known, where=f"{at}, {key}")
    }
    return Entry(
        section=section,
        place=place,
        schema=schema,
        values=values,
        versions=tuple(sorted(versions)),
    )


def merge(entries: Iterable[Entry]) -> list[Entry]:
    """Join entries of one operator that stand in several sections."""
    by_text: dict[str, list[Entry]] = {}
    for entry in entries:
        by_text.setdefault(str(entry.values["func"]), []).append(entry)
    result: list[Entry] = []
    for same in by_text.values():
        main = [entry for entry in same if entry.section not in REPEATING] or same[:1]
        rest = [entry for entry in same if entry not in main]
        check_versions(main)
        first = dataclasses.replace(main[0], repeated=tuple(rest)) if rest else main[0]
        result += [first, *main[1:]]
    return sorted(result, key=lambda entry: entry.place)


def check_versions(same: list[Entry]) -> None:
    """Raise if two entries of one schema are for one version."""
    for index, entry in enumerate(same):
        for other in same[index + 1 :]:
            if set(entry.versions) & set(other.versions) or not entry.versions:
                raise EntryError(
                    where=other.where,
                    got=f"a second entry; the first one is at {entry.place}",
                    fix="join them, or let them be for different versions",
                )


def read_operator(
    entry: Entry, by_name: Mapping[str, Entry], known: tuple[Minor, ...], notes: list[Note]
) -> Operator:
    """Turn an entry into an operator."""
    gen = read_gen_of(entry, by_name)
    name = entry.schema.full_name
    if gen is None:
        notes.append(Note(entry.place, name, "adapter written by hand", "gen_opapi is absent"))
    else:
        notes += [Note(entry.place, name, subject, text) for subject, text in gen.remarks]
    operator = Operator(
        schema=entry.schema,
        place=entry.place,
        call=gen.call if gen else None,
        shapes=gen.shapes if gen else {},
        dtypes=gen.dtypes if gen else {},
        torch=None if entry.versions in {known, ()} else specifier(entry.versions),
        tags=read_tags(entry.values.get("tags")),
        deterministic=entry.values.get("tags") != "nondeterministic_seeded",
    )
    kept = differences(flat_entry(entry.values, entry.schema), make_canonical(operator, known))
    for other in entry.repeated:
        rest = {key: value for key, value in other.values.items() if key != "func"}
        kept[f"{REPEATED}{other.section}"] = flow(rest)
    if kept or entry.section != "custom":
        upstream = Upstream(section=entry.section, entries=tuple(kept.items()))
        return dataclasses.replace(operator, upstream=upstream)
    return operator


def read_tags(value: Value) -> tuple[str, ...]:
    """Read the names of tags."""
    if value is None:
        return ()
    names = value if isinstance(value, tuple) else str(value).split(",")
    return tuple(str(name).strip() for name in names)


def read_gen_of(entry: Entry, by_name: Mapping[str, Entry]) -> Gen | None:
    """Read gen_opapi, which may be that of another operator."""
    gen = entry.values.get("gen_opapi")
    if not isinstance(gen, Mapping):
        return None
    name = gen.get("structured_inherit")
    if name is None:
        return read_gen(gen, entry.schema, where=entry.where)
    other = by_name.get(str(name))
    theirs = other.values.get("gen_opapi") if other else None
    if other is None or not isinstance(theirs, Mapping):
        raise EntryError(
            where=entry.where,
            got=f"structured_inherit: {name}",
            fix="name an operator of this file that has gen_opapi",
        )
    gen = inherit(theirs, other.schema, entry.schema, where=entry.where)
    return read_gen(gen, entry.schema, where=entry.where)


def with_derivatives(
    operators: list[Operator],
    formulas: tuple[Derivative, ...],
    known: tuple[Minor, ...],
    notes: list[Note],
) -> list[Operator]:
    """Give operators their backward; those that only derivatives.yaml has are added."""
    by_text = {str(operator.schema): index for index, operator in enumerate(operators)}
    by_names: dict[tuple[str, ...], list[int]] = {}
    for index, operator in enumerate(operators):
        by_names.setdefault(names_of(operator.schema), []).append(index)
    result = list(operators)
    for derivative in formulas:
        found = by_text.get(str(derivative.schema))
        same = by_names.get(names_of(derivative.schema), [])
        # The two files may write a type or default of one operator differently.
        index_of = found if found is not None or len(same) != 1 else same[0]
        if index_of is None:
            result.append(derivative.alone(known))
            if operators:
                subject = "derivative of a schema that the functions do not have"
                notes.append(Note(derivative.place, derivative.schema.full_name, subject))
        else:
            result[index_of] = derivative.added_to(result[index_of], known)
    return result


def names_of(schema: Schema) -> tuple[str, ...]:
    """Return the names of an operator and its arguments."""
    return (schema.full_name, *(argument.name for argument in schema.arguments))


def layers(
    operators: list[Operator], versions: Mapping[Place, tuple[Minor, ...]]
) -> list[list[Operator]]:
    """Put variants of one operator into different declarations, the newest into the first."""
    variants: dict[str, list[Operator]] = {}
    for operator in operators:
        variants.setdefault(operator.name, []).append(operator)
    layer_of: dict[int, int] = {}
    for same in variants.values():
        newest_first = sorted(same, key=lambda o: versions.get(o.place, ())[-1:], reverse=True)
        for layer, operator in enumerate(newest_first):
            layer_of[id(operator)] = layer
    count = max(layer_of.values(), default=0) + 1
    return [
        [operator for operator in operators if layer_of[id(operator)] == layer]
        for layer in range(count)
    ]
