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
from opwright.kit.declare.defaults import default_value
from opwright.kit.declare.schema import Base
from opwright.kit.declare.values import drawn_names

if TYPE_CHECKING:
    from opwright.aclnn.prototype import Literals, Presence
    from opwright.kit.declare.schema import Argument, Schema, ValueType
    from opwright.kit.derive.facts import Output

__all__ = ["derive_prototype"]

ATTRIBUTES = {
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
LISTS = {
    Base.INT: CType.INT_ARRAY,
    Base.SYMINT: CType.INT_ARRAY,
    Base.FLOAT: CType.FLOAT_ARRAY,
    Base.BOOL: CType.BOOL_ARRAY,
    Base.SCALAR: CType.SCALAR_LIST,
    Base.TENSOR: CType.TENSOR_LIST,
}


def derive_prototype(schema: Schema, outputs: tuple[Output, ...], op_type: str) -> Prototype:
    """Return the prototype of an operator."""
    inputs, attributes = [], []
    for argument in schema.arguments:
        if argument.type.has_tensors:
            if not argument.is_out:
                inputs.append(Port(name=argument.name, presence=presence(argument.type)))
        elif argument.type.base is Base.GENERATOR:
            attributes += [
                Attribute(name=name, ctype=CType.INT64, required=True)
                for name in drawn_names(argument, schema)
            ]
        elif not argument.type.base.is_allocation:
            attributes.append(attribute(argument))
    results = [
        Port(name=output.name, presence=presence(output.type))
        for output in outputs
        if output.type.has_tensors
    ]
    return Prototype(
        op_type=op_type,
        inputs=tuple(inputs),
        outputs=tuple(results),
        attributes=tuple(attributes),
    )


def presence(value_type: ValueType) -> Presence:
    """Return how a tensor argument is present."""
    if value_type.is_list:
        return "dynamic"
    return "optional" if value_type.optional else "required"


def attribute(argument: Argument) -> Attribute:
    """Return the attribute for an argument."""
    default: Literals | None = None
    if argument.default is not None:
        value = default_value(argument)
        default = tuple(value) if isinstance(value, list) else value  # type: ignore[arg-type]  # no nesting
        if argument.type.base is Base.SCALAR_TYPE and isinstance(value, str):
            default = number_of(value)
        elif argument.type.base is not Base.STR and isinstance(value, str):
            default = None  # REG_OP has no infinity
    ctype = carrier(argument.type)
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


def carrier(value_type: ValueType) -> CType:
    """Return the C type that carries a value."""
    if value_type.is_list:
        return LISTS[value_type.base]
    if value_type.is_tensor:
        return CType.TENSOR
    return ATTRIBUTES[value_type.base]
