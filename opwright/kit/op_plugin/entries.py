"""op-plugin's YAML -> the operators for one version of torch, checked and derived."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from opwright.errors import DiagnosticsError
from opwright.kit.declare.errors import UnknownNameError
from opwright.kit.declare.rules import Cpp
from opwright.kit.derive import derive
from opwright.kit.formats.derivatives import read_derivatives
from opwright.kit.formats.errors import EntryError
from opwright.kit.formats.gen_opapi import inherit, new_outputs
from opwright.kit.formats.op_plugin import read_known_versions, read_op_plugin
from opwright.kit.formats.versions import minor, read_versions
from opwright.kit.formats.yaml_text import flow, load_document
from opwright.kit.op_plugin.errors import NoEntryError, OutOfTreeError
from opwright.kit.op_plugin.inputs import render, text_of
from opwright.kit.op_plugin.keys import ENTRY_SPECIAL, GEN_SPECIAL, check_keys
from opwright.kit.validate import check
from opwright.pairs import installed_minor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from opwright.errors import OpwrightError
    from opwright.kit.declare.operator import Declaration, Operator
    from opwright.kit.declare.place import Place
    from opwright.kit.declare.schema import Schema
    from opwright.kit.derive.facts import OperatorFacts, SetFacts
    from opwright.kit.formats.derivatives import Derivative
    from opwright.kit.formats.imported import Imported
    from opwright.kit.formats.versions import Minor
    from opwright.kit.formats.yaml_text import Located, Value
    from opwright.kit.op_plugin.inputs import Inputs

__all__ = ["NAMESPACE", "Entries", "Entry", "read_entries"]

# Keys of a derivative that are no gradients.
NO_INPUTS = frozenset({"name", "version", "output_differentiability", "dispatch"})
RESULT = re.compile(r"result\d*")
# op-plugin registers all its operators there.
NAMESPACE = "npu"
# The meaning of all_version in entries alone: op-plugin's oldest version of torch, and later ones.
VERSIONS = tuple((2, number) for number in range(1, 30))
TAKEN = ("custom", "symint")
DISPATCH = (
    *("PrivateUse1", "AutogradPrivateUse1"),
    *("CompositeExplicitAutograd", "CompositeImplicitAutograd"),
)
UNKNOWN = Cpp("")
# Faults that op-plugin may leave to another file, and liberties in its own namespace.
PERMITTED = frozenset({"OPW-D008", "OPW-D030"})

Kernels = Literal["op_api", "acl_op"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An operator.

    Parameters
    ----------
    gen
        `gen_opapi` with what it inherits; None if the kernel is written by hand.
    kernels
        The namespaces that op-plugin looks for its kernel in; the first one is used.
    symint
        Whether the kernel takes sizes as symbols.
    key
        The dispatch key of the kernel.
    """

    facts: OperatorFacts
    gen: Mapping[str, Value] | None
    kernels: tuple[Kernels, ...]
    symint: bool
    key: str

    @property
    def schema(self) -> Schema:
        """Its schema."""
        return self.facts.schema

    @property
    def where(self) -> str:
        """Its place, for messages."""
        return f"{self.facts.operator.place}, operator {NAMESPACE}::{self.facts.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """The operators of a file.

    Parameters
    ----------
    facts
        Of all of them, and of those that are derived from them.
    left_out
        Operators that are not among them, and why.
    notes
        What a person should know about them.
    derivatives
        By name of an operator, the place of its derivative.
    """

    entries: tuple[Entry, ...]
    facts: SetFacts
    derivatives: Mapping[str, Place]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """An entry as it stands in the file."""

    section: str
    values: Mapping[str, Value]
    line: int


Chosen: TypeAlias = "tuple[Operator, Raw, tuple[Kernels, ...]]"


def read_entries(inputs: Inputs) -> Entries:
    """Read the operators for the installed version of torch.

    Raises
    ------
    OpwrightError
        OPW-O003 to OPW-O005; those of op-plugin's YAML (OPW-S...) and of schemas and derivatives
        (OPW-D...).
    """
    where = render(inputs.functions)
    text = text_of(inputs.functions)
    derivatives = inputs.derivatives
    document = load_document(text, where=where)
    check_keys(text, where=where)
    imported = read_op_plugin(
        text,
        where=where,
        derivatives=text_of(derivatives) if derivatives else None,
        derivatives_where=render(derivatives) if derivatives else "",
        namespace=NAMESPACE,
        versions=VERSIONS,
    )
    known = read_known_versions(document, where=where) or VERSIONS
    raws = {raw.line: raw for raw in read_raw_entries(document)}
    symint = {raw.values["func"] for raw in raws.values() if raw.section == "symint"}
    torch = installed_minor()
    chosen, left_out = select(imported, raws, known, minor(torch, where="torch"), where=where)
    if not chosen:
        raise NoEntryError(where=where, got=f"torch {torch}; {'; '.join(left_out) or 'no entry'}")
    declaration = dataclasses.replace(
        imported.declarations[0],
        torch=None,
        operators=tuple(declare(operator) for operator, _, _ in chosen),
    )
    notes = check_entries(declaration)
    facts = derive(declaration)
    by_name = {raw.values["func"]: raw for _, raw, _ in chosen}
    entries = tuple(
        Entry(
            facts=fact_of(facts, operator.name),
            gen=gen_of(operator, raw, [each for each, _, _ in chosen], by_name),
            kernels=kernels,
            symint=raw.values["func"] in symint,
            key=key_of(operator, raw),
        )
        for operator, raw, kernels in chosen
    )
    return Entries(
        entries=entries,
        facts=facts,
        derivatives=derivative_places(derivatives, entries),
        left_out=tuple(left_out),
        notes=notes,
    )


def derivative_places(file: Path | None, entries: Sequence[Entry]) -> dict[str, Place]:
    """Return where the derivatives of operators stand.

    The two files may write a type or default of one operator differently.
    """
    if file is None:
        return {}
    read, _ = read_derivatives(text_of(file), VERSIONS, where=render(file))
    schemas = {entry.facts.name: entry.schema for entry in entries if entry.facts.autograd}
    names = {entry.facts.name for entry in entries}
    places: dict[str, Place] = {}
    for each in read:
        name = each.schema.full_name
        if name in names:
            check_inputs(each)
        if name in schemas and (name not in places or each.schema == schemas[name]):
            places[name] = each.place
    return places


def check_inputs(derivative: Derivative) -> None:
    """Check that the keys of a derivative are its own, arguments, or results (formulas forwards).

    Raises
    ------
    EntryError
        OPW-S002.
    """
    schema = derivative.schema
    arguments = [argument.name for argument in schema.arguments]
    results = {result.name for result in schema.results if result.name}
    for key, value in derivative.kept:
        inputs = [name.strip() for name in key.split(",")]
        unknown = [name for name in inputs if name not in {*arguments, *results}]
        if key in NO_INPUTS or value is None or not unknown or RESULT.fullmatch(key):
            continue
        raise EntryError(
            where=f"{derivative.place}, operator {schema.full_name}",
            got=repr(unknown[0]),
            allowed=arguments,
            near=unknown[0],
            fix="name an argument of the operator",
        )


def select(
    imported: Imported,
    raws: Mapping[int, Raw],
    known: tuple[Minor, ...],
    version: Minor,
    *,
    where: str,
) -> tuple[list[Chosen], list[str]]:
    """Return the operators for a version of torch, and why the others are left out."""
    chosen: list[Chosen] = []
    left_out: list[str] = []
    for declaration in imported.declarations:
        for operator in declaration.operators:
            raw = raws.get(operator.place.line) if operator.place.file == where else None
            if raw is None:
                left_out.append(
                    f"{operator.place}: {operator.name} is left out, it is not in {where}"
                )
                continue
            kernels = kernels_of(operator, raw, known, version, where=where)
            if kernels:
                chosen.append((operator, raw, kernels))
            else:
                torch = f"{version[0]}.{version[1]}"
                left_out.append(f"{operator.place}: {operator.name} is left out, not for {torch}")
    return chosen, left_out


def read_raw_entries(document: Mapping[str, tuple[Located, ...] | Located]) -> Iterator[Raw]:
    """Yield the entries of all sections; those of symint that repeat another come first."""
    for section in sorted(document, key=lambda name: name != "symint"):
        items = document[section]
        if section != "all_version" and isinstance(items, tuple):
            for item in items:
                if isinstance(item.value, Mapping):
                    yield Raw(section=section, values=item.value, line=item.line)


def kernels_of(
    operator: Operator, raw: Raw, known: tuple[Minor, ...], version: Minor, *, where: str
) -> tuple[Kernels, ...]:
    """Return the kernels that an entry has for a version of torch."""
    at = f"{where}:{raw.line}, operator {operator.name}"
    if raw.section not in TAKEN:
        raise OutOfTreeError(
            where=at,
            got=f"section {raw.section}, whose entries replace kernels of PyTorch's own operators",
            allowed=TAKEN,
        )
    for key in ENTRY_SPECIAL:
        if key in raw.values:
            raise OutOfTreeError(where=at, got=f"{key}, which only op-plugin's own build knows")
    for key in GEN_SPECIAL:
        if isinstance(gen := raw.values.get("gen_opapi"), Mapping) and key in gen:
            raise OutOfTreeError(
                where=f"{at}, gen_opapi",
                got=f"{key}, for which op-plugin has functions that torch_npu does not export",
                fix="write the kernel by hand",
            )
    old = str(raw.values.get("impl_ns", ""))
    names: tuple[Kernels, ...] = ("op_api", "acl_op")
    return tuple(
        name
        for name in names
        if name in old
        or version in read_versions(raw.values.get(name), known, where=f"{at}, {name}")
    )


def key_of(operator: Operator, raw: Raw) -> str:
    """Return the dispatch key of the kernel: an entry may name another than the NPU's."""
    given = raw.values.get("dispatch")
    if given is None:
        return DISPATCH[0]
    if not isinstance(given, Mapping) or [*given.values()] != [operator.schema.name]:
        raise OutOfTreeError(
            where=f"{operator.place}, operator {operator.name}, dispatch",
            got=flow(given),
            allowed=[f"{{{key}: {operator.schema.name}}}" for key in DISPATCH],
            fix="write one dispatch key with the operator's own function",
        )
    (key,) = given
    if key not in DISPATCH:
        raise OutOfTreeError(
            where=f"{operator.place}, operator {operator.name}, dispatch",
            got=key,
            allowed=DISPATCH,
            fix="write one of these dispatch keys",
        )
    return key


def declare(operator: Operator) -> Operator:
    """Return an operator as the kit derives Meta and autograd from it: the call is the kernel's."""
    schema = operator.schema
    shapes, dtypes = dict(operator.shapes), dict(operator.dtypes)
    if not any(a.type.is_tensor and not a.type.optional for a in schema.arguments):
        # Nothing that outputs without a rule could be like: what they are, only the kernel knows.
        for name in new_outputs(schema):
            shapes.setdefault(name, UNKNOWN)
            dtypes.setdefault(name, UNKNOWN)
    return dataclasses.replace(
        operator, call=False, torch=None, upstream=None, shapes=shapes, dtypes=dtypes
    )


def check_entries(declaration: Declaration) -> tuple[str, ...]:
    """Check schemas, rules and derivatives; return warnings.

    Raises
    ------
    DiagnosticsError
        OPW-D010.
    """
    try:
        return tuple(map(str, check(declaration)))
    except DiagnosticsError as error:
        errors = [
            each for each in error.errors if each.id not in PERMITTED and not is_word_of_cpp(each)
        ]
        if errors:
            raise type(error)(where=error.where, errors=errors, warnings=error.warnings) from None
        return tuple(map(str, error.warnings))


def is_word_of_cpp(error: OpwrightError) -> bool:
    """Return whether an error is that a formula has true or false, which are no names in C++."""
    is_formula = "backward " in error.where
    return is_formula and error.id == UnknownNameError.id and error.got in {"'true'", "'false'"}


def fact_of(facts: SetFacts, name: str) -> OperatorFacts:
    """Return what is derived of an operator."""
    found = facts.operator(name)
    assert found is not None, name
    return found


def gen_of(
    operator: Operator, raw: Raw, operators: list[Operator], by_func: Mapping[Value, Raw]
) -> Mapping[str, Value] | None:
    """Return gen_opapi with what it inherits; the reader has checked that it is there."""
    gen = raw.values.get("gen_opapi")
    if not isinstance(gen, Mapping) or "structured_inherit" not in gen:
        return gen if isinstance(gen, Mapping) else None
    name = str(gen["structured_inherit"])
    of = next(each.schema for each in operators if each.name == name)
    func = next(func for func in by_func if str(func).partition("(")[0] == name)
    theirs = by_func[func].values["gen_opapi"]
    assert isinstance(theirs, Mapping), name
    return inherit(theirs, of, operator.schema, where=str(operator.place))
