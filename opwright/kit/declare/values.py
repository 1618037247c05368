"""The values of an operator: what it produces, which dtypes they can have, which have gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.kit.declare.rules import DtypeSet, EachOf, Like, Promoted, SameDtype, strip_index

if TYPE_CHECKING:
    from opwright.kit.declare.operator import Operator
    from opwright.kit.declare.rules import DtypeRule
    from opwright.kit.declare.schema import Argument, Schema, ValueType

__all__ = [
    "FLOATING",
    "Produced",
    "differentiable_inputs",
    "differentiable_outputs",
    "drawn_names",
    "dtype_rule",
    "first_tensor",
    "has_gradient",
    "possible_dtypes",
    "produced",
]

# Dtypes that have gradients; the narrow floating-point ones only carry data.
FLOATING = frozenset(
    {"float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Produced:
    """A result of an operator: a new value, or an argument (`argument` is its name).

    Parameters
    ----------
    result
        Its place among the results of the schema; None for a mutated argument that is not returned.
    """

    name: str
    type: ValueType
    result: int | None
    argument: str | None = None


def produced(schema: Schema) -> tuple[Produced, ...]:
    """Return the results in order, then the mutated arguments that are not returned."""
    values = []
    for index, (result, name) in enumerate(zip(schema.results, schema.output_names(), strict=True)):
        argument = schema.aliased_argument(result)
        values.append(
            Produced(
                name=name,
                type=result.type,
                result=index,
                argument=argument.name if argument else None,
            )
        )
    returned = {value.argument for value in values}
    values += [
        Produced(name=argument.name, type=argument.type, result=None, argument=argument.name)
        for argument in schema.mutated
        if argument.name not in returned
    ]
    return tuple(values)


def first_tensor(schema: Schema) -> Argument | None:
    """Return the tensor that an output is like where no rule says anything."""
    return next((a for a in schema.arguments if a.type.is_tensor and not a.type.optional), None)


def drawn_names(generator: Argument, schema: Schema) -> tuple[str, str]:
    """Return the names of what is drawn from a generator: seed and offset, where they are free."""
    is_free = all(schema.argument(name) is None for name in ("seed", "offset"))
    prefix = "" if is_free and schema.generators[0] == generator else f"{generator.name}_"
    return f"{prefix}seed", f"{prefix}offset"


def dtype_rule(operator: Operator, name: str) -> DtypeRule | None:
    """Return the dtype rule of an argument or output; None for an argument without one.

    An output without one has the dtype of what its shape is like, else of the first tensor.
    """
    given = operator.dtypes.get(name)
    if given is not None or operator.schema.argument(name) is not None:
        return given
    shape = operator.shapes.get(name)
    if isinstance(shape, EachOf):
        shape = shape.shape
    if isinstance(shape, Like):
        tensor = strip_index(shape.tensor)
        is_each = shape.tensor.endswith("[i]") or tensor in lists_of_lists(operator.schema, name)
        return SameDtype(tensor, each=is_each)  # else of a list the first tensor's
    first = first_tensor(operator.schema)
    return None if first is None else SameDtype(first.name)


def lists_of_lists(schema: Schema, name: str) -> frozenset[str]:
    """Return the arguments that a list of results may be like; nothing for one tensor."""
    results = dict(zip(schema.output_names(), schema.results, strict=True))
    if name not in results or not results[name].type.is_list:
        return frozenset()
    return frozenset(a.name for a in schema.arguments if a.type.has_tensors and a.type.is_list)


def possible_dtypes(operator: Operator, name: str) -> frozenset[str] | None:
    """Return the dtypes that a value can have; None where the rules leave that open."""
    seen: set[str] = set()
    while name not in seen:
        seen.add(name)
        match dtype_rule(operator, name):
            case DtypeSet(names):
                return frozenset(names)
            case SameDtype(tensor) | Promoted((tensor,)):
                name = tensor
            case _:
                return None
    return None


def has_gradient(operator: Operator, name: str) -> bool:
    """Return whether a tensor can have a dtype with gradients."""
    dtypes = possible_dtypes(operator, name)
    return dtypes is None or bool(dtypes & FLOATING)


def differentiable_inputs(operator: Operator) -> tuple[str, ...]:
    """Return the tensor arguments that can have a gradient, in the order of the schema."""
    return tuple(
        argument.name
        for argument in operator.schema.arguments
        if argument.type.has_tensors
        and not argument.is_out
        and has_gradient(operator, argument.name)
    )


def differentiable_outputs(operator: Operator) -> tuple[str, ...]:
    """Return the outputs that can have a gradient."""
    return tuple(
        value.name
        for value in produced(operator.schema)
        if value.type.has_tensors and has_gradient(operator, value.name)
    )
