"""The outputs of an operator: which are new, which are arguments, and the rules of the new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.declare.errors import RuleError
from opwright.kit.declare.rules import Dims, Like, ShapeFunction
from opwright.kit.declare.values import dtype_rule, first_tensor, produced
from opwright.kit.derive.facts import Output
from opwright.kit.expressions.read_conditions import read_condition, read_requirement
from opwright.kit.expressions.read_shapes import bind, resolve
from opwright.kit.expressions.trace import lower

if TYPE_CHECKING:
    from opwright.kit.declare.operator import Operator
    from opwright.kit.declare.rules import Cpp, ShapeRule
    from opwright.kit.declare.schema import Schema
    from opwright.kit.declare.values import Produced
    from opwright.kit.expressions.conditions import Check, Condition
    from opwright.kit.expressions.scope import Scope
    from opwright.kit.expressions.shape import Shape

__all__ = ["derive_outputs"]


def derive_outputs(
    operator: Operator, *, where: str
) -> tuple[tuple[Output, ...], tuple[Check, ...]]:
    """Return the outputs, and the checks that patterns of arguments and requirements imply."""
    schema = operator.schema
    patterns = {
        name: rule
        for name, rule in operator.shapes.items()
        if isinstance(rule, Dims) and schema.argument(name) is not None
    }
    scope, checks = bind(schema, patterns, where=where)
    requirements = tuple(
        check
        for text in operator.requires
        for check in read_requirement(text, scope, where=f"{where}, requires")
    )
    outputs = tuple(output(value, operator, scope, where=where) for value in produced(schema))
    return outputs, (*checks, *requirements)


def output(value: Produced, operator: Operator, scope: Scope, *, where: str) -> Output:
    """Return an output with its rules, if it is a new tensor."""
    if value.argument is not None or not value.type.has_tensors:
        return Output(
            name=value.name, type=value.type, result=value.result, argument=value.argument
        )
    rule = operator.shapes.get(value.name) or default_shape(
        operator.schema, value.name, where=where
    )
    return Output(
        name=value.name,
        type=value.type,
        result=value.result,
        shape=shape_of(rule, scope, where=f"{where}, shape of {value.name!r}"),
        dtype=dtype_rule(operator, value.name),
        unspecified=unspecified(value.name, operator, scope, where=where),
    )


def unspecified(
    name: str, operator: Operator, scope: Scope, *, where: str
) -> tuple[Condition, ...]:
    """Return what holds where the values of an output are open."""
    text = operator.unspecified.get(name)
    if text is None:
        return ()
    return read_condition(text, scope, where=f"{where}, unspecified {name!r}")


def default_shape(schema: Schema, name: str, *, where: str) -> Like:
    """Return the rule of an output for which the author gave none: like the first tensor."""
    tensor = first_tensor(schema)
    if tensor is None:
        raise RuleError(
            where=f"{where}, shape of {name!r}",
            got="no rule, and no tensor argument that it could be like",
            fix=f'give shapes={{"{name}": ...}}',
        )
    return Like(tensor.name)


def shape_of(rule: ShapeRule, scope: Scope, *, where: str) -> Shape | ShapeFunction | Cpp:
    """Return the shape as data where that is possible; a function that cannot be lowered stays."""
    resolved = resolve(rule, scope, where=where)
    if isinstance(resolved, ShapeFunction):
        return lower(resolved, scope) or resolved
    return resolved
