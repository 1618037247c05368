"""The prototype (REG_OP) that corresponds to a schema, where the author gave none.

Tensors are inputs, what is written is an output as well, everything else is an attribute, in the
order of the schema. What only says where and how to allocate (device, layout, ...) is left out. A
generator is two attributes, the seed and the offset that are drawn from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.aclnn.dtypes import CANN_DTYPES, DTYPE_NUMBERS
from opwright.aclnn.prototype import Attribute, Port, Prototype
from opwright.aclnn.signature import CType
from opwright.kit.declare.call import camel_case
from opwright.kit.declare.defaults import default_value
from opwright.kit.declare.schema import Base

if TYPE_CHECKING:
    from opwright.aclnn.prototype import Literals, Presence
    from opwright.kit.declare.operator import Operator
    from opwright.kit.declare.schema import Argument, ValueType
    from opwright.kit.derive.facts import Output
    from opwright.kit.derive.values import ValueFacts

__all__ = ["prototype_of"]

# The attribute types for C types that have none of their own.
KINDS = {CType.SCALAR: "Float", CType.SCALAR_LIST: "ListFloat", CType.DTYPE: "Int"}
# torch's second names of dtypes.
ALIASES = {
    "cfloat": "complex64",
    "cdouble": "complex128",
    "chalf": "complex32",
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
}


def prototype_of(
    operator: Operator, outputs: tuple[Output, ...], values: ValueFacts
) -> Prototype | None:
    """Return the prototype: the author's, or one derived from the schema."""
    given = operator.prototype
    if given is False or (given is None and operator.call is False):
        return None
    if given is not None and not isinstance(given, str):
        return given
    inputs, attributes = [], []
    for argument in operator.schema.arguments:
        if argument.type.has_tensors:
            if not argument.is_out:
                inputs.append(Port(name=argument.name, presence=presence(argument.type)))
        elif argument.type.base is Base.GENERATOR:
            attributes += [
                Attribute(name=name, ctype=CType.INT64, required=True)
                for name in values.drawn[argument.name]
            ]
        elif not argument.type.base.is_allocation:
            attributes.append(attribute(argument, values.carriers[argument.name]))
    results = [
        Port(name=output.name, presence=presence(output.type))
        for output in outputs
        if output.type.has_tensors
    ]
    function = operator.call.function if operator.call else ""
    return Prototype(
        op_type=given or function.removeprefix("aclnn") or camel_case(operator.schema.name),
        inputs=tuple(inputs),
        outputs=tuple(results),
        attributes=tuple(attributes),
    )


def presence(value_type: ValueType) -> Presence:
    """Return how a tensor argument is present."""
    if value_type.is_list:
        return "dynamic"
    return "optional" if value_type.optional else "required"


def attribute(argument: Argument, ctype: CType) -> Attribute:
    """Return the attribute for an argument."""
    default: Literals | None = None
    if argument.default is not None:
        value = default_value(argument)
        default = tuple(value) if isinstance(value, list) else value  # type: ignore[arg-type]  # no nesting
        if argument.type.base is Base.SCALAR_TYPE and isinstance(value, str):
            default = number_of(value)
        elif argument.type.base is not Base.STR and isinstance(value, str):
            default = None  # REG_OP has no infinity
    return Attribute(
        name=argument.name,
        ctype=ctype,
        kind=KINDS.get(ctype, ""),
        required=argument.default is None and not argument.type.optional,
        default=default,
    )


def number_of(dtype: str) -> int | None:
    """Return GE's number of a dtype of torch; None if it has none.

    >>> number_of("float"), number_of("torch.bfloat16")
    (0, 27)
    """
    name = dtype.removeprefix("torch.")
    wanted = ALIASES.get(name, name)
    return next((DTYPE_NUMBERS[n] for n, known in CANN_DTYPES.items() if known == wanted), None)
