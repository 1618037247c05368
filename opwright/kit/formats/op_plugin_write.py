"""Declarations -> op-plugin's op_plugin_functions.yaml and derivatives.yaml.

What was kept from a file (`Operator.upstream`) is written as it was, as long as it still means what
the declaration says; otherwise what the declaration says is written. What op-plugin's YAML cannot
say is named in a comment at the operator, and an operator that it cannot have at all is a comment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from opwright.kit.declare.backward import BackwardFunction, BackwardReference
from opwright.kit.declare.rules import Dims, DtypeSet
from opwright.kit.declare.schema_text import parse_schema
from opwright.kit.formats.derivatives import PREFIX, write_derivative
from opwright.kit.formats.entries import (
    GEN,
    INHERIT,
    NAMES,
    REPEATED,
    TOGETHER,
    make_canonical,
    nested_gen,
)
from opwright.kit.formats.errors import EntryError, NotWritableError
from opwright.kit.formats.gen_opapi import inherit, new_outputs, read_gen, write_gen
from opwright.kit.formats.op_plugin import SECTIONS
from opwright.kit.formats.versions import Minor, every, minor, read_versions, specifier, write_name
from opwright.kit.formats.yaml_text import block, flow, read_value
from opwright.pairs import installed_minor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opwright.kit.declare.operator import Declaration, Operator
    from opwright.kit.formats.gen_opapi import Gen
    from opwright.kit.formats.yaml_text import Value

__all__ = ["DERIVATIVES", "FUNCTIONS", "Written", "op_plugin_files"]

FUNCTIONS = "op_plugin_functions.yaml"
DERIVATIVES = "derivatives.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Texts by path.

    Parameters
    ----------
    left_out
        What the texts only name in comments: operator and reason.
    """

    files: Mapping[str, str]
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True, kw_only=True)
class Draft:
    """The text collected while operators are written."""

    known: tuple[Minor, ...]
    flat: dict[str, dict[str, Value]] = field(default_factory=dict)
    sections: dict[str, list[str]] = field(default_factory=dict)
    derivatives: list[str] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)


def op_plugin_files(*declarations: Declaration, newest: str | None = None) -> Written:
    """Write declarations as YAML files.

    Parameters
    ----------
    declarations
        One, or several with variants of operators for different versions of torch.
    newest
        The newest version of torch, the installed one if it is not given: the end of a specifier
        without an upper bound, and the only version of a declaration without a specifier.

    Returns
    -------
    written
        op_plugin_functions.yaml, and derivatives.yaml if an operator has a backward.
    """
    draft = Draft(known=all_versions(declarations, newest or installed_minor()))
    operators = [operator for declaration in declarations for operator in declaration.operators]
    for operator in operators:
        draft.flat[key_of(operator)] = flat_of(operator, draft.known)
    by_name = {operator.name: operator for operator in reversed(operators)}
    for operator in operators:
        add_function(operator, by_name, draft)
        add_derivative(operator, draft)
    versions = f"all_version: {flow(tuple(map(write_name, draft.known)))}\n"
    lines = [versions]
    for section in (*SECTIONS, *sorted(draft.sections.keys() - {*SECTIONS})):
        entries = draft.sections.get(section, ())
        lines.append("\n".join([f"{section}:", *entries]) + "\n")
    files = {FUNCTIONS: "\n".join(lines)}
    if draft.derivatives:
        files[DERIVATIVES] = "\n".join([versions, "backward:", *draft.derivatives])
    return Written(files=files, left_out=tuple(draft.left_out))


def all_versions(declarations: tuple[Declaration, ...], newest: str) -> tuple[Minor, ...]:
    """Return the versions that the file is for."""
    last = minor(newest, where="newest")
    found: set[Minor] = set()
    for declaration in declarations:
        where = f"{declaration.place}, torch"
        found.update(every(declaration.torch, last, where=where) if declaration.torch else (last,))
    return tuple(sorted(found or {last}))


def key_of(operator: Operator) -> str:
    """Return what distinguishes variants of one operator."""
    return f"{operator.place} {operator.schema}"


def flat_of(operator: Operator, known: tuple[Minor, ...]) -> dict[str, Value]:
    """Return the flat keys and values of an operator's entry."""
    texts = dict(operator.upstream.entries) if operator.upstream else {}
    if texts.get(GEN) == "" and operator.call is None and not operator.shapes:
        own: dict[str, Value] = {
            key: value
            for key, value in make_canonical(operator, known).items()
            if not key.startswith(f"{GEN}.")
        }
    else:
        own = make_canonical(operator, known)
    texts = {
        key: text
        for key, text in texts.items()
        if key != GEN and not key.startswith((PREFIX, REPEATED))
    }
    flat = dict(own)
    for group in groups(texts):
        candidate = replace_keys(flat, {key: texts[key] for key in group})
        if is_same_meaning(candidate, group, operator, known):
            flat = candidate
    return use_own_names(flat, own, operator)


def use_own_names(
    flat: dict[str, Value], own: Mapping[str, Value], operator: Operator
) -> dict[str, Value]:
    """Let a call that is not the file's own use the file's names of outputs."""
    call = f"{GEN}.exec"
    keys, text = flat.get(NAMES), flat.get(call)
    if not isinstance(keys, tuple) or not isinstance(text, str) or text != own.get(call):
        return flat
    names = dict(zip(new_outputs(operator.schema), map(str, keys), strict=False))
    parts = [part.strip() for part in text.split(",")]
    return {**flat, call: ", ".join(names.get(part, part) for part in parts)}


def groups(texts: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Return the kept keys, those that belong together as one."""
    done: set[str] = set()
    for key in texts:
        group = next((group for group in TOGETHER if key in group), (key,))
        if key not in done:
            done.update(group)
            yield tuple(each for each in group if each in texts)


def replace_keys(flat: Mapping[str, Value], texts: Mapping[str, str]) -> dict[str, Value]:
    """Return flat keys with some values replaced, and those with an empty text removed."""
    result = dict(flat)
    for key, text in texts.items():
        if text:
            result[key] = read_value(text)
        else:
            result.pop(key, None)
    return result


def is_same_meaning(
    flat: Mapping[str, Value],
    group: tuple[str, ...],
    operator: Operator,
    known: tuple[Minor, ...],
) -> bool:
    """Whether kept values still say what the declaration says."""
    if group[0] in TOGETHER[1]:
        versions = {
            version
            for key in TOGETHER[1]
            for version in read_versions(flat.get(key), known, where=key)
        }
        wanted = operator.torch
        return (
            wanted is None
            if versions in ({*known}, set())
            else specifier(tuple(versions)) == wanted
        )
    if group[0] == "func":
        return parse_schema(str(flat["func"]), where="func") == operator.schema
    if group[0] == "tags":
        return True
    if group[0].startswith(f"{GEN}.") and group[0] != INHERIT:
        return is_same_gen(flat, group[0], operator)
    return True


def is_same_gen(flat: Mapping[str, Value], key: str, operator: Operator) -> bool:
    """Whether a kept part of gen_opapi still says what the declaration says."""
    gen = nested_gen(flat, operator.schema)
    try:
        read = read_gen(gen, operator.schema, where=str(operator.place))
    except EntryError:
        return key == f"{GEN}.outputs"
    if key in TOGETHER[0]:
        return read.call == operator.call
    name = key.split(".")[1]
    part = key.rpartition(".")[2]
    if part == "size":
        return read.shapes.get(name) == operator.shapes.get(name)
    if part == "dtype":
        return read.dtypes.get(name) == operator.dtypes.get(name)
    return True


def add_function(operator: Operator, by_name: Mapping[str, Operator], draft: Draft) -> None:
    """Add the entry of an operator to the file of functions."""
    upstream = operator.upstream
    section = upstream.section if upstream else "custom"
    if not section:  # it stands in derivatives.yaml only
        return
    flat = draft.flat[key_of(operator)]
    where = f"{operator.place}, operator {operator.name}"
    texts = dict(upstream.entries) if upstream else {}
    by_hand = texts.get(GEN) == ""
    comments = list(find_inexpressible(operator))
    if INHERIT in flat:
        flat = with_inheritance(operator, by_name, draft)
    elif not by_hand and f"{GEN}.exec" not in flat:
        try:
            write_gen(operator, where=where)
        except NotWritableError as error:
            draft.left_out.append((operator.name, error.got))
            lines = [f"  # {operator.schema}", f"  # is left out: {error.got}"]
            draft.sections.setdefault(section, []).append("\n".join(lines))
            return
    draft.left_out += [(operator.name, comment) for comment in comments]
    gen = nested_gen(flat, operator.schema)
    entry: dict[str, Value] = {"func": flat.get("func", str(operator.schema))}
    entry |= {key: value for key, value in flat.items() if key != "func" and "." not in key}
    if gen:
        entry[GEN] = gen
    draft.sections.setdefault(section, []).append(entry_text(entry, comments))
    for key, text in texts.items():
        if key.startswith(REPEATED):
            rest = read_value(text)
            assert not isinstance(rest, str | int | float | tuple), "it was written as a mapping"
            again = {"func": entry["func"], **(rest or {})}
            other = key.removeprefix(REPEATED)
            draft.sections.setdefault(other, []).append(entry_text(again, ()))


def with_inheritance(
    operator: Operator, by_name: Mapping[str, Operator], draft: Draft
) -> dict[str, Value]:
    """Return the entry with structured_inherit if the other operator still says the same."""
    flat = draft.flat[key_of(operator)]
    other = by_name.get(str(flat[INHERIT]))
    plain = {key: value for key, value in flat.items() if not key.startswith(f"{GEN}.")}
    if other is not None and is_inheritable(operator, other, draft):
        return {**plain, INHERIT: flat[INHERIT]}
    return {key: value for key, value in flat.items() if key != INHERIT}


def is_inheritable(operator: Operator, other: Operator, draft: Draft) -> bool:
    """Whether an operator is what it would inherit from another one."""
    where = str(operator.place)
    theirs = nested_gen(draft.flat[key_of(other)], other.schema)
    try:
        gen: Gen = read_gen(
            inherit(theirs, other.schema, operator.schema, where=where),
            operator.schema,
            where=where,
        )
    except EntryError:
        return False
    mine = (operator.call, dict(operator.shapes), dict(operator.dtypes))
    return mine == (gen.call, dict(gen.shapes), dict(gen.dtypes))


def entry_text(entry: Mapping[str, Value], comments: tuple[str, ...] | list[str]) -> str:
    """Write an entry of a list."""
    first, *rest = block(entry, 4)
    lines = [f"  # not said here: {comment}" for comment in comments]
    return "\n".join([*lines, f"  - {first.lstrip()}", *rest]) + "\n"


def find_inexpressible(operator: Operator) -> Iterator[str]:
    """Return what a declaration says and op-plugin's YAML cannot."""
    schema = operator.schema
    written = {*new_outputs(schema), *(a.name for a in schema.mutated if a.keyword_only)}
    for name, rule in operator.shapes.items():
        if name not in written and isinstance(rule, Dims):
            yield f"the shape of {name}: {rule.text}"
    for name, dtype in operator.dtypes.items():
        if name not in written and isinstance(dtype, DtypeSet):
            yield f"the dtypes of {name}: {' '.join(dtype.names)}"
        elif name not in written:
            yield f"the dtype of {name}"
    yield from (f"the layout of {name}: {value}" for name, value in operator.layouts.items())
    yield from (f"a requirement: {text}" for text in operator.requires)
    yield from (f"{name} is unspecified where {t}" for name, t in operator.unspecified.items())
    if isinstance(operator.backward, BackwardReference | BackwardFunction):
        yield "the backward, which is Python"
    if operator.vmap != "loop":
        yield "the batching rule"
    if operator.autocast:
        yield f"autocast: {operator.autocast}"
    if operator.deprecated:
        yield f"deprecated since {operator.deprecated.since}"
    if operator.functional:
        yield f"the functional twin: {operator.functional}"
    if operator.torch_npu:
        yield f"torch_npu: {operator.torch_npu}"


def add_derivative(operator: Operator, draft: Draft) -> None:
    """Add the entry of an operator to the file of derivatives."""
    entry = write_derivative(operator, draft.known)
    if entry is not None:
        first, *rest = block(entry, 2)
        draft.derivatives.append("\n".join([f"- {first.lstrip()}", *rest]) + "\n")
