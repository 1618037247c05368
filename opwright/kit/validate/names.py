"""Rules for names: each operator, declared or derived, has a name of its own that is free."""

from __future__ import annotations

import ast
import dataclasses
from typing import TYPE_CHECKING

from opwright.kit.declare.backward import BackwardCall
from opwright.kit.declare.errors import DuplicateOperatorError, FieldError, ReservedNameError
from opwright.kit.declare.reserved import RESERVED_NAMESPACES
from opwright.kit.declare.schema import Result, Schema
from opwright.kit.validate.backward import arguments_of
from opwright.kit.validate.errors import NameClashError
from opwright.kit.validate.subject import subjects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.errors import OpwrightError
    from opwright.kit.declare.backward import Formula
    from opwright.kit.declare.operator import Declaration, Operator
    from opwright.kit.declare.place import Place
    from opwright.kit.validate.subject import Subject

__all__ = ["RULES", "SET_RULES"]

# Attributes that torch.ops.<namespace>.<operator> has itself, beside its overloads.
RESERVED_OVERLOADS = frozenset({"default", "op", "op_overloads", "overloads"})
# Parameters of torch's auto_functionalized operators, which take an operator's arguments by name.
RESERVED_ARGUMENTS = frozenset({"_mutable_op", "_all_bases", "_op_schema"})


def check_reserved(subject: Subject) -> Iterator[OpwrightError]:
    """Check names that only PyTorch may use."""
    overload = subject.schema.overload
    if overload in RESERVED_OVERLOADS or overload.startswith("__"):
        yield ReservedNameError(where=subject.where("overload"), got=repr(overload))
    for name in subject.arguments:
        if name in RESERVED_ARGUMENTS or (name.startswith("_") and name.endswith("_base_index")):
            yield ReservedNameError(where=subject.where("argument"), got=repr(name))


def check_functional(subject: Subject) -> Iterator[OpwrightError]:
    """Check the name of the functional twin."""
    name = subject.operator.functional
    if name is None:
        return
    where = subject.where("functional")
    if not subject.schema.mutated:
        fix = "remove it: the operator mutates nothing, so it needs no functional twin"
        yield FieldError(where=where, got=repr(name), fix=fix)
    elif not all(part.isidentifier() for part in name.split(".")):
        yield ReservedNameError(where=where, got=repr(name), fix="use letters, digits and _")


def namespace(declaration: Declaration) -> Iterator[tuple[Place, OpwrightError]]:
    """Check the namespace, also where the set was not made by an OperatorSet."""
    reserved_names = () if declaration.existing else RESERVED_NAMESPACES
    if declaration.namespace in reserved_names or not declaration.namespace.isidentifier():
        error = ReservedNameError(
            where=f"{declaration.place}, namespace",
            got=repr(declaration.namespace),
            fix="choose a name that neither PyTorch nor torch_npu uses",
        )
        yield declaration.place, error


def clashes(declaration: Declaration) -> Iterator[tuple[Place, OpwrightError]]:
    """Check that no operator has the name of one before it, or one that is derived from it."""
    before: dict[str, tuple[str, str, Operator]] = {}
    for subject in subjects(declaration):
        operator = subject.operator
        for name, kind in names_of(subject).items():
            known, known_kind, owner = before.setdefault(in_cpp(name), (name, kind, operator))
            if owner is operator:
                continue
            if kind == known_kind == "operator" and known == name:
                got = f"a declaration at {owner.place}"
                yield operator.place, DuplicateOperatorError(where=subject.where(), got=got)
                break
            if known == name and "operator" in {kind, known_kind}:
                continue  # `derived` reports it
            whose = "" if known_kind == "operator" else f" of {owner.name!r}"
            error = NameClashError(
                where=subject.where(),
                got=f"{kind} {name!r} and {known_kind} {known!r}{whose}, both {in_cpp(name)} in "
                "C++ and Python",
            )
            yield operator.place, error


def check_derived(subject: Subject) -> Iterator[OpwrightError]:
    """Check that derived operators do not have the names of declared ones."""
    for name, kind in names_of(subject).items():
        other = subject.declared.get(name)
        if other is None or other is subject.operator:
            continue
        got = f"{kind} {name!r}, declared at {other.place}"
        if kind == "functional twin":
            wanted = twin(subject.schema, name)
            if signature(other.schema) != signature(wanted):
                yield NameClashError(
                    where=subject.where(),
                    got=f"{got} as {other.schema}",
                    allowed=[str(wanted)],
                    fix="give it this schema, or name another twin with functional=",
                )
        elif kind == "backward":
            yield NameClashError(
                where=subject.where(),
                got=got,
                fix=f"rename {name}, or make the backward one call of it",
            )


def names_of(subject: Subject) -> dict[str, str]:
    """Return the names of an operator and of those derived from it, with what they are."""
    operator, schema = subject.operator, subject.schema
    stem, overload = schema.name.rstrip("_"), schema.overload
    found = {operator.name: "operator"}
    if schema.mutated:
        name = operator.functional or f"{stem}_functional"
        found[f"{name}.{overload}" if overload and "." not in name else name] = "functional twin"
    given = operator.backward
    is_call = isinstance(given, BackwardCall) and is_one_call(given.formulas, subject)
    if given is not None and not is_call:
        found[f"{stem}_backward.{overload}" if overload else f"{stem}_backward"] = "backward"
    return found


def is_one_call(formulas: tuple[Formula, ...], subject: Subject) -> bool:
    """Return whether the backward is one call of an operator, which then is the backward."""
    try:
        nodes = [ast.parse(each.expression.strip(), mode="eval").body for each in formulas]
    except SyntaxError:
        return True  # reported as a formula; nothing is derived from it
    match nodes:
        case [ast.Call(ast.Name(name), arguments, []) as call]:
            operator = subject.declared.get(name)
            if operator is None or any(arguments_of(call, operator, "")):
                return True  # reported with the formula
            plain = all(isinstance(each, ast.Name | ast.Subscript) for each in arguments)
            return plain and len(operator.schema.arguments) == len(arguments)
    return False


def in_cpp(name: str) -> str:
    """Return the name of an operator's function in C++ and in the Python API."""
    return name.replace(".", "_")


def twin(schema: Schema, name: str) -> Schema:
    """Return the schema of the functional twin."""
    base, _, overload = name.partition(".")
    return Schema(
        name=base,
        overload=overload,
        arguments=tuple(dataclasses.replace(each, alias=None) for each in schema.arguments),
        results=(
            *(result for result in schema.results if result.alias is None),
            *(Result(type=argument.type) for argument in schema.mutated),
        ),
    )


def signature(schema: Schema) -> tuple[object, ...]:
    """Return what callers see of a schema: not the names of results."""
    results = tuple((result.type, result.alias) for result in schema.results)
    return (schema.arguments, results)


RULES = (check_reserved, check_functional, check_derived)
SET_RULES = (namespace, clashes)
