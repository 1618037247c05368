"""The outputs of an operator: which are new, which are arguments, and the rules of the new ones."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from opwright.kit.declare.errors import RuleError
from opwright.kit.declare.rules import Dims, EachOf, Like, ShapeFunction
from opwright.kit.derive.facts import Output
from opwright.kit.expressions.patterns import bind
from opwright.kit.expressions.read import read_condition, read_requirement, resolve, resolve_list
from opwright.kit.expressions.trace import lower

if TYPE_CHECKING:
    from opwright.kit.declare.operator import Operator
    from opwright.kit.declare.rules import Cpp, ShapeRule
    from opwright.kit.declare.schema import Schema
    from opwright.kit.derive.values import ValueFacts
    from opwright.kit.expressions.conditions import Check
    from opwright.kit.expressions.shape import Shape

__all__ = ["derive_outputs"]


def has_number(rule: ShapeRule, schema: Schema) -> bool:
    """Return whether a shape rule says how many tensors a list of results has."""
    argument = schema.argument(rule.tensor) if isinstance(rule, Like) else None
    return isinstance(rule, EachOf) or (argument is not None and argument.type.is_list)


def derive_outputs(
    operator: Operator, values: ValueFacts, *, where: str
) -> tuple[tuple[Output, ...], tuple[Check, ...]]:
    """Return the outputs, and the checks that patterns of arguments and requirements imply.

    The shape of a new tensor is data where that is possible; a function that cannot be lowered
    stays. Without a rule it is like the first tensor.
    """
    patterns = {
        name: rule
        for name, rule in operator.shapes.items()
        if isinstance(rule, Dims) and operator.schema.argument(name) is not None
    }
    scope, checks = bind(operator.schema, patterns, where=where)
    requirements = tuple(
        check
        for text in operator.requires
        for check in read_requirement(text, scope, where=f"{where}, requires")
    )
    outputs = []
    for value in values.produced:
        output = Output(
            name=value.name, type=value.type, result=value.result, argument=value.argument
        )
        if output.is_new and value.type.has_tensors:
            place = f"{where}, shape of {value.name!r}"
            rule = operator.shapes.get(value.name) or values.default_shape
            count = None
            if value.type.is_list and operator.call is False:
                outputs.append(output)  # its reference makes it
                continue
            if rule is None:
                raise RuleError(
                    where=place,
                    got="no rule, and no tensor argument that it could be like",
                    fix=f'give shapes={{"{value.name}": ...}}',
                )
            shape: Shape | ShapeFunction | Cpp
            if value.type.is_list and has_number(rule, operator.schema):
                count, shape = resolve_list(rule, scope, where=place)
            else:
                shape = resolve(rule, scope, where=place)
            text = operator.unspecified.get(value.name)
            output = dataclasses.replace(
                output,
                count=count,
                dtype=values.dtypes[value.name],
                unspecified=()
                if text is None
                else read_condition(text, scope, where=f"{where}, unspecified {value.name!r}"),
                shape=(lower(shape, scope) or shape) if isinstance(shape, ShapeFunction) else shape,
            )
        outputs.append(output)
    return tuple(outputs), (*checks, *requirements)
