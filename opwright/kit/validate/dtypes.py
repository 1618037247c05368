"""Rules for dtypes of arguments and outputs, and for tolerances."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from typing_extensions import assert_never

from opwright.kit.declare.dtypes import DTYPES
from opwright.kit.declare.errors import DtypeError, UnknownNameError
from opwright.kit.declare.rules import (
    Cpp,
    DtypeArgument,
    DtypeSet,
    EachOf,
    Like,
    Promoted,
    SameDtype,
    strip_index,
)
from opwright.kit.declare.schema import Base
from opwright.kit.validate.errors import (
    AmbiguousDtypeError,
    DtypeCycleError,
    DtypeRuleError,
    NoDtypeRuleError,
    ToleranceError,
)
from opwright.kit.validate.shapes import report_unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.errors import OpwrightError
    from opwright.kit.declare.rules import DtypeRule
    from opwright.kit.validate.subject import Subject

__all__ = ["RULES"]


def names(subject: Subject) -> Iterator[OpwrightError]:
    """Check that dtypes are given for tensors that the operator has."""
    tensors = {argument.name for argument in subject.schema.arguments if argument.type.has_tensors}
    tensors |= {output.name for output in subject.new_outputs() if output.type.has_tensors}
    for name in subject.operator.dtypes:
        if name not in subject.names():
            yield report_unknown(name, subject, subject.where("dtypes"))
        elif name not in tensors:
            yield DtypeRuleError(
                where=subject.where(f"dtype of {name!r}"),
                got="a rule for what is no tensor",
                allowed=tensors,
                near=name,
                fix="give dtypes to tensors",
            )


def arguments(subject: Subject) -> Iterator[OpwrightError]:
    """Check that an argument has a set of dtypes, or the dtype of another argument.

    An out argument may have the rule of an output.
    """
    for argument in subject.schema.arguments:
        rule = subject.operator.dtypes.get(argument.name)
        where = subject.where(f"dtype of {argument.name!r}")
        if rule is not None and argument.type.has_tensors:
            is_each = isinstance(rule, SameDtype) and rule.each
            if is_each or not (argument.is_out or isinstance(rule, DtypeSet | SameDtype)):
                yield DtypeRuleError(where=where, got=f"{describe(rule)} for an argument")
            else:
                yield from references(rule, subject, where, optional=True)


def outputs(subject: Subject) -> Iterator[OpwrightError]:
    """Check that the dtype of a new output is known and one."""
    if subject.operator.call is False:
        return  # its reference makes the outputs
    for output in subject.new_outputs():
        where = subject.where(f"dtype of {output.name!r}")
        rule = subject.operator.dtypes.get(output.name)
        if not output.type.has_tensors:
            continue
        if isinstance(rule, SameDtype) and rule.each and not output.type.is_list:
            yield DtypeRuleError(
                where=where,
                got=f"{describe(rule)} for one tensor",
                allowed=[f"{rule.tensor}[0]"],
                fix="name one tensor of the list; i is a place in a list of results",
            )
        elif rule is not None:
            yield from references(rule, subject, where, optional=False)
            yield from one_dtype(rule, where)
        elif subject.rule_of(output.name) is None:
            got = "no rule, and no tensor argument that is always there"
            lists = [a.name for a in subject.schema.arguments if a.type.has_tensors]
            example = lists[0] if lists else "float32"
            fix = f'name its dtype: dtypes={{"{output.name}": "{example}"}}'
            yield NoDtypeRuleError(where=where, got=got, fix=fix)
        else:
            yield from of_first(output.name, subject, where)


def of_first(name: str, subject: Subject, where: str) -> Iterator[OpwrightError]:
    """Check that an output without a dtype rule is not like a later tensor of a list.

    The dtype of a list is that of its first tensor; others may have other ones.
    """
    shape = subject.operator.shapes.get(name)
    if isinstance(shape, EachOf):
        shape = shape.shape
    if isinstance(shape, Like) and re.search(r"\[(?!0\]|i\])", shape.tensor):
        tensors = strip_index(shape.tensor)
        yield NoDtypeRuleError(
            where=where,
            got=f"no rule, and a shape like {shape.tensor!r}",
            fix=f'name its dtype; that of the first of them is dtypes={{"{name}": "{tensors}"}}',
        )


def describe(rule: DtypeRule) -> str:
    """Name a rule as an author writes it."""
    match rule:
        case DtypeSet(names):
            return " ".join(names)
        case SameDtype(tensor, is_each):
            return repr(f"{tensor}[i]" if is_each else tensor)
        case Promoted(tensors):
            return f"promote({', '.join(map(repr, tensors))})"
        case DtypeArgument(name, otherwise) if otherwise is not None:
            return f"'{name} or {describe(otherwise).strip(chr(39))}'"
        case DtypeArgument(name):
            return repr(name)
        case Cpp(text):
            return f"cpp({text!r})"
        case _:
            assert_never(rule)


def one_dtype(rule: DtypeRule, where: str) -> Iterator[OpwrightError]:
    """Check that a rule does not leave open which dtype it is."""
    if isinstance(rule, DtypeArgument):
        if rule.otherwise is not None:
            yield from one_dtype(rule.otherwise, where)
    elif isinstance(rule, DtypeSet) and len(rule.names) > 1:
        yield AmbiguousDtypeError(where=where, got=repr(" ".join(rule.names)))


def references(
    rule: DtypeRule, subject: Subject, where: str, *, optional: bool
) -> Iterator[OpwrightError]:
    """Check the names in a rule; `optional` says whether it may name a tensor that may be None."""
    match rule:
        case DtypeSet(listed):
            if not listed:
                fix = "name at least one dtype, or leave the rule out to allow all"
                yield DtypeError(where=where, got="an empty set", allowed=DTYPES, fix=fix)
            for dtype in listed:
                if dtype not in DTYPES:
                    yield DtypeError(where=where, got=repr(dtype), allowed=DTYPES, near=dtype)
        case SameDtype(tensor, is_each):
            yield from tensor_name(tensor, subject, where, optional=optional, only_lists=is_each)
        case Promoted(tensors):
            if not tensors:
                yield DtypeError(where=where, got="promote()", fix="name the tensor arguments")
            for tensor in tensors:
                yield from tensor_name(tensor, subject, where, optional=optional)
        case DtypeArgument(otherwise=otherwise):
            yield from dtype_argument(rule, subject, where)
            if otherwise is not None:
                yield from references(otherwise, subject, where, optional=optional)
        case Cpp():
            return
        case _:
            assert_never(rule)


def tensor_name(
    name: str, subject: Subject, where: str, *, optional: bool, only_lists: bool = False
) -> Iterator[OpwrightError]:
    """Check the name of a tensor argument."""
    lists = [a.name for a in subject.schema.arguments if a.type.has_tensors and a.type.is_list]
    always = [argument.name for argument in subject.tensors if not argument.type.optional]
    absent = [argument.name for argument in subject.tensors if argument.type.optional]
    if optional:
        always, absent = [*always, *absent], []
    if only_lists:
        always, absent = [], []
    if name in absent:
        yield UnknownNameError(
            where=where,
            got=f"{name!r}, which may be None",
            allowed=always,
            near=name,
            fix="name a tensor argument that is always there",
        )
    elif name not in always and name not in lists:
        yield UnknownNameError(
            where=where,
            got=repr(name),
            allowed=[*always, *lists],
            near=name,
            fix="name a tensor argument",
        )


def dtype_argument(rule: DtypeArgument, subject: Subject, where: str) -> Iterator[OpwrightError]:
    """Check the name of an argument that is a dtype, and that something stands for None."""
    name = rule.name
    dtypes = [
        argument.name
        for argument in subject.schema.arguments
        if argument.type.base is Base.SCALAR_TYPE and not argument.type.is_list
    ]
    if name not in dtypes:
        yield UnknownNameError(
            where=where,
            got=repr(name),
            allowed=dtypes,
            near=name,
            fix="name an argument of type ScalarType or ScalarType?",
        )
    elif rule.otherwise is None and (first := subject.schema.type_of(name)).optional:
        tensor = subject.first_tensor
        example = tensor.name if tensor is not None else "float32"
        yield DtypeRuleError(
            where=where,
            got=f"{name!r}, an argument of type {first}",
            allowed=[f"{name} or {example}"],
            fix="say which dtype it is where the argument is None",
        )


def cycles(subject: Subject) -> Iterator[OpwrightError]:
    """Check that dtype rules do not refer to each other in a circle."""
    rules = subject.operator.dtypes
    seen: set[str] = set()
    for start in rules:
        path = [start]
        while isinstance(rule := rules.get(path[-1]), SameDtype) and rule.tensor not in path:
            path.append(rule.tensor)
        if isinstance(rule, SameDtype) and rule.tensor == start and not seen & set(path):
            got = " -> ".join(map(repr, [*path, start]))
            yield DtypeCycleError(where=subject.where(f"dtype of {start!r}"), got=got)
            seen |= set(path)


def tolerances(subject: Subject) -> Iterator[OpwrightError]:
    """Check that tolerances are distances, for dtypes that the operator has."""
    values = [a.name for a in subject.schema.arguments if a.type.has_tensors]
    values += [output.name for output in subject.new_outputs() if output.type.has_tensors]
    sets = [subject.dtypes_of(name) for name in values]
    known = {dtype for dtypes in sets for dtype in (DTYPES if dtypes is None else dtypes)}
    for dtype, tolerance in subject.operator.tolerances.items():
        where = subject.where(f"tolerance for {dtype!r}")
        if dtype not in known:
            fix = "name a dtype that the operator has"
            yield ToleranceError(where=where, got=repr(dtype), allowed=known, near=dtype, fix=fix)
        for label in ("rtol", "atol"):
            value = getattr(tolerance, label)
            if not (math.isfinite(value) and value >= 0):
                yield ToleranceError(where=where, got=f"{label}={value!r}")


RULES = (names, arguments, outputs, cycles, tolerances)
