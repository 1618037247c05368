"""The outputs of an operator: which are new, which are arguments, and the rules of the new ones."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from opwright.kit.declare.errors import RuleError
from opwright.kit.declare.rules import Dims, ShapeFunction
from opwright.kit.derive.facts import Output
from opwright.kit.expressions.patterns import bind
from opwright.kit.expressions.read import read_condition, read_requirement, resolve
from opwright.kit.expressions.trace import lower

if TYPE_CHECKING:
    from opwright.kit.declare.operator import Operator
    from opwright.kit.derive.values import ValueFacts
    from opwright.kit.expressions.conditions import Check

__all__ = ["derive_outputs"]


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
            if rule is None:
                raise RuleError(
                    where=place,
                    got="no rule, and no tensor argument that it could be like",
                    fix=f'give shapes={{"{value.name}": ...}}',
                )
            shape = resolve(rule, scope, where=place)
            text = operator.unspecified.get(value.name)
            output = dataclasses.replace(
                output,
                dtype=values.dtypes[value.name],
                unspecified=()
                if text is None
                else read_condition(text, scope, where=f"{where}, unspecified {value.name!r}"),
                shape=(lower(shape, scope) or shape) if isinstance(shape, ShapeFunction) else shape,
            )
        outputs.append(output)
    return tuple(outputs), (*checks, *requirements)
