"""`op_proto.h`: the prototypes as REG_OP text, and which operators a graph of GE can have."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from opwright.aclnn.dtypes import CANN_DTYPES
from opwright.aclnn.reg_op import write_reg_op
from opwright.kit.declare.rules import DtypeSet, SameDtype
from opwright.kit.emit.header import with_header

if TYPE_CHECKING:
    from opwright.aclnn.prototype import Port, Prototype
    from opwright.kit.derive.facts import OperatorFacts, SetFacts

__all__ = [
    "ATTRIBUTES",
    "emit_reg_op",
    "graph_operators",
    "type_prototype",
]

# The attribute types of operator_reg.h -> the classes of torchair.ge.attr, and their values.
ATTRIBUTES = {
    "Int": ("Int", "int"),
    "Float": ("Float", "float"),
    "Bool": ("Bool", "bool"),
    "String": ("Str", "str"),
    "AscendString": ("Str", "str"),
    "Type": ("DataType", "int"),
    "ListInt": ("ListInt", "list[int]"),
    "ListFloat": ("ListFloat", "list[float]"),
    "ListBool": ("ListBool", "list[bool]"),
    "ListString": ("ListStr", "list[str]"),
    "ListAscendString": ("ListStr", "list[str]"),
    "ListType": ("ListDataType", "list[int]"),
    "ListListInt": ("ListListInt", "list[list[int]]"),
}
# torch's dtype -> CANN's name: the first that CANN has for it.
GE_DTYPES = {
    dtype: name
    for name, dtype in reversed(CANN_DTYPES.items())
    if name not in {"FLOAT32", "BFLOAT16"}
}


def graph_operators(facts: SetFacts) -> tuple[OperatorFacts, ...]:
    """Return the operators that have a prototype which TorchAir can build a node for."""
    return tuple(
        operator
        for operator in facts.operators
        if operator.prototype is not None
        and not operator.prototype.graphs
        and all(each.type_name in ATTRIBUTES for each in operator.prototype.attributes)
    )


def type_prototype(operator: OperatorFacts) -> Prototype:
    """Return the prototype with the dtypes that the declaration gives, where it has none."""
    prototype = operator.prototype
    assert prototype is not None
    return dataclasses.replace(
        prototype,
        inputs=tuple(type_port(port, operator) for port in prototype.inputs),
        outputs=tuple(type_port(port, operator) for port in prototype.outputs),
    )


def type_port(port: Port, operator: OperatorFacts) -> Port:
    """Return a port with dtypes."""
    if port.dtypes or port.symbol:
        return port
    names = dtypes_of(port.name, operator, seen=())
    return dataclasses.replace(port, dtypes=names or ("ALL",))


def dtypes_of(name: str, operator: OperatorFacts, seen: tuple[str, ...]) -> tuple[str, ...]:
    """Return CANN's names of the dtypes of an argument or output; empty if any is allowed."""
    output = operator.output(name)
    rule = operator.dtypes.get(name) or (output.dtype if output else None)
    match rule:
        case DtypeSet(names):
            return tuple(f"DT_{GE_DTYPES[each]}" for each in names if each in GE_DTYPES)
        case SameDtype(tensor) if tensor not in seen:
            return dtypes_of(tensor, operator, (*seen, name))
    return ()


def emit_reg_op(facts: SetFacts) -> str:
    """Return a header with the prototypes."""
    prototypes: dict[str, Prototype] = {}
    for operator in facts.operators:
        if operator.prototype is not None:
            prototypes.setdefault(operator.prototype.op_type, type_prototype(operator))
    guard = f"{facts.declaration.namespace.upper()}_OP_PROTO_H_"
    parts = [f"{write_reg_op(each)}\n" for each in prototypes.values()]
    include = '#include "graph/operator_reg.h"'
    head = f"#ifndef {guard}\n#define {guard}\n\n{include}\n\nnamespace ge {{\n\n"
    tail = f"\n}}  // namespace ge\n\n#endif  // {guard}\n"
    body = head + "\n".join(parts) + tail
    return with_header(body, source=facts.declaration.source.name, comment="//")
