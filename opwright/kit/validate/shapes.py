"""Rules for the shapes of arguments and outputs, and for layouts."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from opwright.kit.declare.errors import DeclarationError, UnknownNameError
from opwright.kit.declare.rules import Dims, ShapeFunction, strip_index
from opwright.kit.declare.schema import Base
from opwright.kit.expressions.patterns import bind
from opwright.kit.expressions.read import read_condition, read_requirement, resolve, resolve_list
from opwright.kit.expressions.scope import Scope
from opwright.kit.expressions.shape import (
    Binary,
    Broadcast,
    Const,
    Dim,
    Element,
    Rank,
    Reduced,
    Span,
)
from opwright.kit.validate.errors import (
    AxisError,
    NoShapeRuleError,
    PatternError,
    ResultTypeError,
    ShapeFunctionError,
)
from opwright.kit.validate.subject import write_without_annotations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.errors import OpwrightError
    from opwright.kit.declare.rules import ShapeRule
    from opwright.kit.declare.schema import Schema
    from opwright.kit.declare.values import Produced
    from opwright.kit.expressions.shape import Index, Item
    from opwright.kit.validate.subject import Subject

__all__ = ["RULES", "bind_patterns"]


def bind_patterns(subject: Subject) -> tuple[Scope, list[DeclarationError]]:
    """Bind the patterns; those that cannot be bound are left out and their errors returned."""
    good: dict[str, Dims] = {}
    errors: list[DeclarationError] = []
    scope = Scope(arguments={a.name: a for a in subject.schema.arguments})
    where = subject.where()
    for argument in sorted(subject.tensors, key=lambda a: a.type.optional):
        rule = subject.operator.shapes.get(argument.name)
        if isinstance(rule, Dims):
            try:
                scope, _ = bind(subject.schema, {**good, argument.name: rule}, where=where)
            except DeclarationError as error:
                errors.append(error)
            else:
                good[argument.name] = rule
    return scope, errors


def names(subject: Subject) -> Iterator[OpwrightError]:
    """Check that shapes and layouts are given for values that the operator has."""
    lists = {a.name for a in subject.schema.arguments if a.type.has_tensors and a.type.is_list}
    for name in subject.operator.shapes:
        if strip_index(name) in lists and name.endswith("]"):
            yield PatternError(
                where=subject.where("shapes"),
                got=f"a shape of {name!r}, an element of a list",
                allowed=[f"{name}.shape[0]", f"{name}.ndim", f"*{name}.shape"],
                fix="write the sizes of an element so in other rules, and in requires what holds",
            )
        elif name not in subject.names():
            yield report_unknown(name, subject, subject.where("shapes"))
    tensors = [argument.name for argument in subject.schema.arguments if argument.type.has_tensors]
    for name in subject.operator.layouts:
        if name not in tensors:
            yield UnknownNameError(
                where=subject.where("layouts"),
                got=repr(name),
                allowed=tensors,
                near=name,
                fix="name a tensor argument",
            )


def report_unknown(name: str, subject: Subject, where: str) -> UnknownNameError:
    """Return the error for a name that is neither that of an argument nor of an output."""
    return UnknownNameError(
        where=where,
        got=repr(name),
        allowed=subject.names(),
        near=name,
        fix="name an argument or output of the schema",
    )


def patterns(subject: Subject) -> Iterator[OpwrightError]:
    """Check that the shape of an argument is a pattern that can be bound.

    An out argument may have the rule of an output.
    """
    for argument in subject.schema.arguments:
        rule = subject.operator.shapes.get(argument.name)
        where = subject.where(f"shape of {argument.name!r}")
        if rule is None:
            continue
        if not argument.type.is_tensor:
            fix = "give shapes to arguments that are one tensor"
            if argument.type.has_tensors:
                fix += f"; {argument.name}[0].shape in other rules is that of an element"
            yield PatternError(
                where=where,
                got=f"a shape for {argument.type}",
                allowed=[tensor.name for tensor in subject.tensors],
                fix=fix,
            )
        elif argument.is_out and not isinstance(rule, Dims):
            yield from check_resolved(rule, bind_patterns(subject)[0], subject, where)
        elif not isinstance(rule, Dims):
            yield PatternError(where=where, got=f"{type(rule).__name__} for an argument")
    yield from bind_patterns(subject)[1]


def outputs(subject: Subject) -> Iterator[OpwrightError]:
    """Check that each new output has a shape rule that can be resolved."""
    if subject.operator.call is False:
        return  # its reference makes the outputs
    scope, _ = bind_patterns(subject)
    for output in subject.new_outputs():
        where = subject.where(f"shape of {output.name!r}")
        rule = subject.operator.shapes.get(output.name)
        if not output.type.has_tensors or (output.type.is_list and output.type.optional):
            yield report_not_allocated(output, subject)
        elif output.type.is_list:
            yield from check_list(rule, scope, output, subject)
        elif rule is None:
            if subject.first_tensor is None:
                got = "no rule, and no tensor argument that is always there to be like"
                fix = f'give its sizes: shapes={{"{output.name}": "N, D"}}'
                yield NoShapeRuleError(where=where, got=got, fix=fix)
        else:
            yield from check_resolved(rule, scope, subject, where)


def check_resolved(
    rule: ShapeRule, scope: Scope, subject: Subject, where: str
) -> Iterator[OpwrightError]:
    """Check that the shape rule of an output can be resolved, and its sizes."""
    if isinstance(rule, ShapeFunction):
        yield from shape_function(rule, subject.schema, where)
        return
    try:
        shape = resolve(rule, scope, where=where)
    except DeclarationError as error:
        yield error
        return
    if isinstance(shape, tuple):
        for item in shape:
            yield from sizes(item, scope, where)


def check_list(
    rule: ShapeRule | None, scope: Scope, output: Produced, subject: Subject
) -> Iterator[OpwrightError]:
    """Check that the shape rule of a list of results can be resolved, and its sizes."""
    where = subject.where(f"shape of {output.name!r}")
    if rule is None or output.type.optional_elements:
        lists = [a.name for a in subject.schema.arguments if a.type.is_list and a.type.has_tensors]
        example = f'ow.like("{lists[0]}")' if lists else 'ow.each("2", "N, D")'
        yield NoShapeRuleError(
            where=where,
            got=f"a result of type {output.type}, and no rule for how many tensors it has"
            if rule is None
            else f"a result of type {output.type}: no rule says which of its tensors are None",
            fix=f'give their number and shapes: shapes={{"{output.name}": {example}}}'
            if rule is None
            else "return Tensor[], with a tensor in each place",
        )
        return
    try:
        count, shape = resolve_list(rule, scope, where=where)
    except DeclarationError as error:
        yield error
        return
    for item in (count, *shape):
        yield from sizes(item, scope, where)


def report_not_allocated(output: Produced, subject: Subject) -> OpwrightError:
    """Return the error for a result that no shape rule can describe."""
    if output.type.base is Base.TENSOR:
        return NoShapeRuleError(
            where=subject.where(f"shape of {output.name!r}"),
            got=f"a result of type {output.type}: no rule says when it is None",
            fix="return a tensor, with no elements where there is nothing to return",
        )
    return ResultTypeError(
        where=subject.where(f"result {output.name!r}"), got=repr(str(output.type))
    )


def shape_function(rule: ShapeFunction, schema: Schema, where: str) -> Iterator[OpwrightError]:
    """Check that a shape function can be called with the arguments by name."""
    signature = inspect.signature(rule.function)
    try:
        signature.bind(**dict.fromkeys(argument.name for argument in schema.arguments))
    except TypeError as error:
        yield ShapeFunctionError(
            where=where,
            got=f"{rule.function.__name__}{write_without_annotations(signature)}: {error}",
            allowed=[f"({', '.join(argument.name for argument in schema.arguments)})"],
        )


def sizes(item: Item, scope: Scope, where: str) -> Iterator[OpwrightError]:
    """Check axes, elements and constants of one item of a shape."""
    match item:
        case Const(value) if value < 0:
            fix = "write the size with names of dimensions; -1 says nothing here"
            yield AxisError(where=where, got=repr(value), fix=fix)
        case Dim(tensor, axis, None):
            yield from axis_of(tensor, axis, scope, where)
        case Element(name, index):
            yield from element_of(name, index, scope, where)
        case Dim() | Rank() | Span() | Reduced() if item.index is not None:
            yield from element_of(item.tensor, item.index, scope, where)
        case Binary(_, left, right):
            # A negative constant inside an expression is an ordinary number.
            for part in (left, right):
                if not isinstance(part, Const):
                    yield from sizes(part, scope, where)
        case Broadcast(shapes):
            for each in (item for shape in shapes for item in shape):
                yield from sizes(each, scope, where)


def element_of(name: str, index: Index, scope: Scope, where: str) -> Iterator[OpwrightError]:
    """Check an index against the length of a list."""
    argument = scope.arguments.get(name)
    length = None if argument is None else argument.type.length
    if length is not None and index != "i" and not -length <= index < length:
        got = f"{name}[{index}], while {name!r} has {length} elements"
        fix = f"count elements from 0 to {length - 1}"
        yield AxisError(where=where, got=got, fix=fix)


def axis_of(tensor: str, axis: int, scope: Scope, where: str) -> Iterator[OpwrightError]:
    """Check an axis against the pattern of a tensor."""
    rank = scope.ranks.get(tensor)
    if rank is not None and not -rank <= axis < rank:
        got = f"{tensor}.shape[{axis}], while {tensor!r} has {rank} axes"
        yield AxisError(where=where, got=got)


def requirements(subject: Subject) -> Iterator[OpwrightError]:
    """Check that requirements can be read."""
    scope, _ = bind_patterns(subject)
    for text in subject.operator.requires:
        try:
            read_requirement(text, scope, where=subject.where("requires"))
        except DeclarationError as error:
            yield error


def check_unspecified(subject: Subject) -> Iterator[OpwrightError]:
    """Check that conditions can be read, and are about new tensors."""
    scope, _ = bind_patterns(subject)
    new = [output.name for output in subject.new_outputs() if output.type.has_tensors]
    for name, text in subject.operator.unspecified.items():
        where = subject.where(f"unspecified {name!r}")
        if name not in new:
            yield UnknownNameError(
                where=where,
                got=repr(name),
                allowed=new,
                near=name,
                fix="name a result that is a new tensor",
            )
            continue
        try:
            read_condition(text, scope, where=where)
        except DeclarationError as error:
            yield error


RULES = (names, patterns, outputs, requirements, check_unspecified)
