"""Facts about the values of an operator, derived once: several derivations need them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.aclnn.signature import CType
from opwright.kit.declare import values
from opwright.kit.declare.rules import Like
from opwright.kit.declare.schema import Base

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.kit.declare.operator import Operator
    from opwright.kit.declare.rules import DtypeRule
    from opwright.kit.declare.values import Produced

__all__ = ["ValueFacts", "value_facts"]

SINGLE = {
    Base.TENSOR: CType.TENSOR,
    Base.INT: CType.INT64,
    Base.SYMINT: CType.INT64,
    Base.FLOAT: CType.DOUBLE,
    Base.SYMFLOAT: CType.DOUBLE,
    Base.BOOL: CType.BOOL,
    Base.SYMBOOL: CType.BOOL,
    Base.STR: CType.TEXT,
    Base.SCALAR: CType.SCALAR,
    Base.SCALAR_TYPE: CType.DTYPE,
}
LISTS = {
    Base.INT: CType.INT_ARRAY,
    Base.SYMINT: CType.INT_ARRAY,
    Base.FLOAT: CType.FLOAT_ARRAY,
    Base.BOOL: CType.BOOL_ARRAY,
    Base.SCALAR: CType.SCALAR_LIST,
    Base.TENSOR: CType.TENSOR_LIST,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueFacts:
    """Facts about the values of an operator.

    Parameters
    ----------
    produced
        The results, then the mutated arguments that are not returned.
    dtypes
        The dtype rule of each.
    default_shape
        The shape rule of a new tensor for which the author gave none: like the first tensor.
    differentiable_inputs, differentiable_outputs
        The tensors that can have a gradient.
    drawn
        By generator the names of the seed and the offset that are drawn from it.
    carriers
        The C type that carries an argument or a result; without those that nothing carries.
    """

    produced: tuple[Produced, ...]
    dtypes: Mapping[str, DtypeRule | None]
    default_shape: Like | None
    differentiable_inputs: tuple[str, ...]
    differentiable_outputs: tuple[str, ...]
    drawn: Mapping[str, tuple[str, str]]
    carriers: Mapping[str, CType]


def value_facts(operator: Operator) -> ValueFacts:
    """Return the facts about the values of an operator."""
    schema = operator.schema
    produced, first = values.produced(schema), values.first_tensor(schema)
    types = {each.name: each.type for each in produced}
    types |= {each.name: each.type for each in schema.arguments}
    carriers = {name: (LISTS if t.is_list else SINGLE).get(t.base) for name, t in types.items()}
    return ValueFacts(
        produced=produced,
        dtypes={each.name: values.dtype_rule(operator, each.name) for each in produced},
        default_shape=None if first is None else Like(first.name),
        differentiable_inputs=values.differentiable_inputs(operator),
        differentiable_outputs=values.differentiable_outputs(operator),
        drawn={each.name: values.drawn_names(each, schema) for each in schema.generators},
        carriers={name: carrier for name, carrier in carriers.items() if carrier is not None},
    )
