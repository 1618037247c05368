"""The outputs of an operator: which are new, which are arguments, and the rules of the new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.declare.dims import bind, read_requirement, resolve
from opwright.declare.errors import RuleError
from opwright.declare.rules import Dims, Like, SameDtype, ShapeFunction
from opwright.derive.facts import Output
from opwright.derive.trace import lower

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.declare.dims import Check, Scope
    from opwright.declare.operator import Operator
    from opwright.declare.rules import Cpp, DtypeRule, ShapeRule
    from opwright.declare.schema import Schema
    from opwright.declare.shape import Shape

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
    outputs = []
    for index, (result, name) in enumerate(zip(schema.results, schema.output_names(), strict=True)):
        argument = schema.aliased_argument(result)
        if argument is not None or not result.type.has_tensors:
            alias = argument.name if argument else None
            outputs.append(Output(name=name, type=result.type, result=index, argument=alias))
            continue
        rule = operator.shapes.get(name) or default_shape(schema, name, where=where)
        outputs.append(
            Output(
                name=name,
                type=result.type,
                result=index,
                shape=shape_of(rule, scope, where=f"{where}, shape of {name!r}"),
                dtype=dtype_of(name, rule, operator.dtypes, schema),
            )
        )
    returned = {output.argument for output in outputs}
    outputs += [
        Output(name=argument.name, type=argument.type, result=None, argument=argument.name)
        for argument in schema.mutated
        if argument.name not in returned
    ]
    return tuple(outputs), (*checks, *requirements)


def default_shape(schema: Schema, name: str, *, where: str) -> Like:
    """Return the rule of an output for which the author gave none: like the first tensor."""
    tensors = [a.name for a in schema.arguments if a.type.is_tensor and not a.type.optional]
    if not tensors:
        raise RuleError(
            where=f"{where}, shape of {name!r}",
            got="no rule, and no tensor argument that it could be like",
            fix=f'give shapes={{"{name}": ...}}',
        )
    return Like(tensors[0])


def shape_of(rule: ShapeRule, scope: Scope, *, where: str) -> Shape | ShapeFunction | Cpp:
    """Return the shape as data where that is possible; a function that cannot be lowered stays."""
    resolved = resolve(rule, scope, where=where)
    if isinstance(resolved, ShapeFunction):
        return lower(resolved, scope) or resolved
    return resolved


def dtype_of(
    name: str, rule: ShapeRule, dtypes: Mapping[str, DtypeRule], schema: Schema
) -> DtypeRule | None:
    """Return the dtype rule of an output: its own, of what it is like, or of the first tensor."""
    if name in dtypes:
        return dtypes[name]
    if isinstance(rule, Like):
        return SameDtype(rule.tensor)
    tensors = [a.name for a in schema.arguments if a.type.is_tensor and not a.type.optional]
    return SameDtype(tensors[0]) if tensors else None
