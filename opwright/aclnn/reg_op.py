"""REG_OP text -> prototypes (graph/operator_reg.h of CANN's metadef)."""

from __future__ import annotations

import re

from opwright.aclnn.prototype import (
    ATTRIBUTE_TYPES,
    Attribute,
    Port,
    Presence,
    Prototype,
    PrototypeError,
)
from opwright.aclnn.scan import Call, bare_name, read_chain, read_literal, without_comments

__all__ = ["parse_reg_op"]

START = re.compile(r"\bREG_OP\s*(?=\()")
PRESENCE: dict[str, Presence] = {
    "INPUT": "required",
    "OPTIONAL_INPUT": "optional",
    "DYNAMIC_INPUT": "dynamic",
    "OUTPUT": "required",
    "DYNAMIC_OUTPUT": "dynamic",
}
END = "OP_END_FACTORY_REG"
IGNORED = {"DATATYPE"}  # says which dtypes are equal; the C signature does not show it


def parse_reg_op(text: str, *, where: str) -> tuple[Prototype, ...]:
    """Read all prototypes of a text.

    Parameters
    ----------
    where
        The file, or the place of the text, for error messages.

    Raises
    ------
    PrototypeError
        OPW-K002.
    """
    plain = without_comments(text)
    return tuple(
        prototype(read_chain(plain, match.start(), where=where), where=where)
        for match in START.finditer(plain)
        if not re.search(r"#\s*define\s*$", plain[: match.start()].rpartition("\n")[2])
    )


def prototype(chain: tuple[Call, ...], *, where: str) -> Prototype:
    """Read one prototype from REG_OP to OP_END_FACTORY_REG."""
    op_type = bare_name(chain[0], where=where)
    if chain[-1].name != END or bare_name(chain[-1], where=where) != op_type:
        raise PrototypeError(
            where=f"{where}:{chain[-1].line}, operator {op_type}",
            got=f"an end with {chain[-1].name}({', '.join(chain[-1].arguments)})",
            allowed=(f"{END}({op_type})",),
            fix="end the prototype as it begins",
        )
    inputs: list[Port] = []
    outputs: list[Port] = []
    attributes: list[Attribute] = []
    for call in chain[1:-1]:
        place = f"{where}:{call.line}, operator {op_type}"
        if call.name in PRESENCE:
            ports = outputs if call.name.endswith("OUTPUT") else inputs
            ports.append(port(call, where=where))
        elif call.name in {"ATTR", "REQUIRED_ATTR"}:
            attributes.append(attribute(call, where=where))
        elif call.name not in IGNORED:
            allowed = sorted({*PRESENCE, "ATTR", "REQUIRED_ATTR", *IGNORED})
            raise PrototypeError(where=place, got=call.name, allowed=allowed)
    return Prototype(
        op_type=op_type,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        attributes=tuple(attributes),
    )


def port(call: Call, *, where: str) -> Port:
    """Read an input or output."""
    return Port(name=bare_name(call, where=where), presence=PRESENCE[call.name])


def attribute(call: Call, *, where: str) -> Attribute:
    """Read an attribute."""
    name = bare_name(call, where=where)
    kind = call.arguments[1] if len(call.arguments) > 1 else ""
    if kind not in ATTRIBUTE_TYPES:
        raise PrototypeError(
            where=f"{where}:{call.line}, attribute {name}",
            got=f"type {kind!r}",
            allowed=sorted(ATTRIBUTE_TYPES),
            fix="aclnn functions have no such attribute; give the aclnn signature of your operator",
        )
    # An initialiser list with commas is one argument of the macro, but several of a call.
    initialiser = ", ".join(call.arguments[2:])
    return Attribute(
        name=name,
        ctype=ATTRIBUTE_TYPES[kind],
        required=call.name == "REQUIRED_ATTR",
        default=read_literal(initialiser) if initialiser else None,
    )
