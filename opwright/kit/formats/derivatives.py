"""op-plugin's derivatives.yaml <-> the backward of operators."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.kit.declare.backward import BackwardCall, Formula
from opwright.kit.declare.operator import Operator, Upstream
from opwright.kit.declare.place import Place
from opwright.kit.declare.schema_text import parse_schema
from opwright.kit.formats.errors import EntryError, YamlError
from opwright.kit.formats.versions import (
    Minor,
    minor,
    read_versions,
    select,
    specifier,
    write_versions,
)
from opwright.kit.formats.yaml_text import Located, flow, load_document, read_value

if TYPE_CHECKING:
    from opwright.kit.declare.schema import Schema
    from opwright.kit.formats.yaml_text import Value

__all__ = ["PREFIX", "Derivative", "read_derivatives", "write_derivative"]

PREFIX = "derivatives."
NON_DIFFERENTIABLE = "non_differentiable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivative:
    """An entry of the file.

    Parameters
    ----------
    kept
        What formulas of inputs do not say.
    """

    place: Place
    schema: Schema
    formulas: tuple[Formula, ...]
    versions: tuple[Minor, ...]
    kept: tuple[tuple[str, Value], ...]

    def added_to(self, operator: Operator, known: Sequence[Minor]) -> Operator:
        """Return the operator with this backward."""
        entries = tuple(self.entries(operator, known))
        upstream = operator.upstream
        if entries:
            before = upstream or Upstream(section="custom")
            upstream = Upstream(section=before.section, entries=(*before.entries, *entries))
        backward = BackwardCall(self.formulas) if self.formulas else None
        return dataclasses.replace(operator, backward=backward, upstream=upstream)

    def alone(self, known: Sequence[Minor]) -> Operator:
        """Return an operator that has nothing but this backward."""
        operator = Operator(
            schema=self.schema,
            place=self.place,
            upstream=Upstream(section=""),
            torch=None if self.versions in {tuple(known), ()} else specifier(self.versions),
        )
        return self.added_to(operator, known)

    def entries(self, operator: Operator, known: Sequence[Minor]) -> list[tuple[str, str]]:
        """Return what has to be kept for writing the entry again."""
        own = {"version": default_version(operator, known), "name": str(operator.schema)}
        return [
            (f"{PREFIX}{key}", "" if value is None else flow(value))
            for key, value in self.kept
            if key not in own or value != own[key]
        ]


def default_version(operator: Operator, known: Sequence[Minor]) -> Value:
    """Return the version of an entry where none was kept: that of the operator."""
    if operator.torch is None:
        return "all_version"
    return write_versions(select(operator.torch, known, where=""), known)


def read_derivatives(
    text: str, known: Sequence[Minor], *, where: str
) -> tuple[tuple[Derivative, ...], tuple[Minor, ...]]:
    """Read the file.

    Returns
    -------
    derivatives, versions
        The versions are those of all_version of this file.

    Raises
    ------
    YamlError, EntryError, VersionError, SchemaError
        OPW-S001 to OPW-S003, OPW-D001.
    """
    document = load_document(text, where=where)
    given = document.get("all_version")
    own: tuple[Minor, ...] = ()
    if isinstance(given, Located) and isinstance(given.value, tuple):
        own = tuple(minor(str(name), where=f"{where}:{given.line}") for name in given.value)
    # Entries alone, as those of op_plugin_functions.yaml may be, have the key of those.
    items = document.get("backward", document.get("custom", ()))
    if isinstance(items, Located):
        items = ()
    return tuple(read_one(item, tuple(known) or own, where=where) for item in items), own


def read_one(item: Located, known: Sequence[Minor], *, where: str) -> Derivative:
    """Read one entry."""
    place = Place(where, item.line)
    values = item.value
    if not isinstance(values, Mapping) or not isinstance(values.get("name"), str):
        raise YamlError(
            where=str(place), got=flow(values)[:80], fix="begin each entry with name: SCHEMA"
        )
    schema = parse_schema(str(values["name"]), where=str(place))
    arguments = {argument.name for argument in schema.arguments}
    formulas: list[Formula] = []
    kept: list[tuple[str, Value]] = []
    for key, value in values.items():
        inputs = tuple(name.strip() for name in key.split(","))
        if key == "name":
            kept.append((key, value))
        elif arguments.issuperset(inputs) and value != NON_DIFFERENTIABLE:
            if not isinstance(value, str):
                raise EntryError(
                    where=f"{place}, operator {schema.full_name}, {key}",
                    got=flow(value),
                    fix="write the gradient as an expression",
                )
            formulas.append(Formula(inputs, value))
        else:
            kept.append((key, value))
    if "version" not in values:
        kept.append(("version", None))
    versions = read_versions(values.get("version"), known, where=f"{place}, version")
    return Derivative(
        place=place,
        schema=schema,
        formulas=tuple(formulas),
        versions=versions,
        kept=tuple(kept),
    )


def write_derivative(operator: Operator, known: Sequence[Minor]) -> dict[str, Value] | None:
    """Return the entry of an operator; None if it has none."""
    texts = dict(operator.upstream.entries) if operator.upstream else {}
    kept = {key.removeprefix(PREFIX): text for key, text in texts.items() if key.startswith(PREFIX)}
    if not isinstance(operator.backward, BackwardCall) and not kept:
        return None
    entry: dict[str, Value] = {"name": str(operator.schema)}
    entry["version"] = default_version(operator, known)
    formulas = operator.backward.formulas if isinstance(operator.backward, BackwardCall) else ()
    tensors = tuple(a.name for a in operator.schema.arguments if a.type.has_tensors)
    for formula in formulas:
        entry[", ".join(formula.inputs or tensors)] = formula.expression
    for key, text in kept.items():
        if text:
            entry[key] = read_value(text)
        else:
            entry.pop(key, None)
    return entry
