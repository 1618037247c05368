"""The OpDef class of an operator project -> prototypes (register/op_def.h of CANN's metadef)."""

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
from opwright.aclnn.scan import (
    Call,
    blank_comments,
    read_chain,
    read_literal,
    read_quoted_name,
)
from opwright.aclnn.signature import CType

__all__ = ["parse_op_def"]

CLASS = re.compile(r"\bclass\s+(\w+)\s*(?:final\s*)?:\s*public\s+(?:\w+::)*OpDef\b")
# Of the operator itself: this->Input("x"), or Input("x") alone; config.Input("x") is for one chip.
MEMBER = re.compile(r"(?:\bthis\s*->\s*|(?<![\w.>:])(?<!\. ))(?=(?:Input|Output|Attr)\s*\(\s*\")")
UNSUPPORTED = {"ListListInt"}  # opbuild has no aclnn function for it either
INTEGERS = {f"DT_{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}


def parse_op_def(text: str, *, where: str) -> tuple[Prototype, ...]:
    """Read the prototypes of all OpDef classes in a text.

    Raises
    ------
    PrototypeError
        OPW-K002.
    """
    plain = blank_comments(text)
    starts = [*CLASS.finditer(plain)]
    ends = [match.start() for match in starts[1:]] + [len(plain)]
    return tuple(
        prototype(match[1], plain, match.end(), end, where=where)
        for match, end in zip(starts, ends, strict=True)
    )


def prototype(op_type: str, text: str, start: int, end: int, *, where: str) -> Prototype:
    """Read one class."""
    inputs: list[Port] = []
    outputs: list[Port] = []
    attributes: list[Attribute] = []
    for member in MEMBER.finditer(text, start, end):
        chain = read_chain(text, member.end(), where=where)
        if chain[0].name == "Attr":
            attributes.append(attribute(chain, where=where))
        else:
            ports = inputs if chain[0].name == "Input" else outputs
            ports.append(port(chain, where=where))
    if not inputs and not outputs:
        raise PrototypeError(
            where=f"{where}, class {op_type}",
            got="neither Input nor Output",
            fix='declare the ports in the constructor, for example this->Input("x")',
        )
    return Prototype(
        op_type=op_type,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        attributes=tuple(attributes),
        combinations=True,
    )


def port(chain: tuple[Call, ...], *, where: str) -> Port:
    """Read an input or output with the calls on it."""
    calls = {call.name: call for call in chain}
    name = read_quoted_name(chain[0], where=where)
    place = f"{where}:{chain[0].line}, {chain[0].name} {name!r}"
    if "OutputShapeDependOnCompute" in calls:
        raise PrototypeError(
            where=place,
            got="OutputShapeDependOnCompute",
            fix="a reference function has no form for a shape; give the aclnn signature and write "
            "the whole output",
        )
    if "ScalarList" in calls:
        return Port(name=name, presence="dynamic", scalar=True, version=version(calls))
    return Port(
        name=name,
        presence=presence(calls.get("ParamType"), where=place),
        scalar="Scalar" in calls,
        values=array_of(calls, where=place) if "ValueDepend" in calls else None,
        version=version(calls),
        dtypes=columns(calls),
    )


def presence(call: Call | None, *, where: str) -> Presence:
    """Read ParamType."""
    match last_word(call.arguments[0]) if call and call.arguments else "REQUIRED":
        case "REQUIRED":
            return "required"
        case "OPTIONAL" | "VIRTUAL":
            return "optional"
        case "DYNAMIC":
            return "dynamic"
        case other:
            allowed = ("DYNAMIC", "OPTIONAL", "REQUIRED", "VIRTUAL")
            raise PrototypeError(where=where, got=f"ParamType({other})", allowed=allowed)


def columns(calls: dict[str, Call]) -> tuple[str, ...]:
    """Return the dtypes of a port, one for each combination."""
    call = calls.get("DataType") or calls.get("DataTypeList")
    listed = call.arguments[0].strip("{} \n") if call and call.arguments else ""
    return tuple(last_word(part) for part in listed.split(",") if part.strip())


def array_of(calls: dict[str, Call], *, where: str) -> CType:
    """Return the array type for an input whose values the host needs."""
    dtypes = set(columns(calls))
    if dtypes == {"DT_FLOAT"}:
        return CType.FLOAT_ARRAY
    if dtypes == {"DT_BOOL"}:
        return CType.BOOL_ARRAY
    if dtypes <= INTEGERS:
        return CType.INT_ARRAY
    raise PrototypeError(
        where=where,
        got=f"ValueDepend with {', '.join(sorted(dtypes))}",
        allowed=("DT_BOOL", "DT_FLOAT", "integer dtypes"),
    )


def attribute(chain: tuple[Call, ...], *, where: str) -> Attribute:
    """Read an attribute with the calls on it."""
    calls = {call.name: call for call in chain}
    name = read_quoted_name(chain[0], where=where)
    kinds = [call for call in chain if call.name in ATTRIBUTE_TYPES.keys() | UNSUPPORTED]
    if len(kinds) != 1 or kinds[0].name in UNSUPPORTED:
        raise PrototypeError(
            where=f"{where}:{chain[0].line}, attribute {name!r}",
            got=", ".join(kind.name for kind in kinds) or "no type",
            allowed=sorted(ATTRIBUTE_TYPES),
            fix="give it one of the types that aclnn functions have",
        )
    kind, given = kinds[0], calls.get("AttrType")
    required = given is None or last_word(given.arguments[0]) != "OPTIONAL"
    return Attribute(
        name=name,
        ctype=ATTRIBUTE_TYPES[kind.name],
        required=required,
        default=read_literal(kind.arguments[0]) if kind.arguments and not required else None,
        version=version(calls),
    )


def version(calls: dict[str, Call]) -> int:
    """Return the version from which a port or attribute exists."""
    value = read_literal(calls["Version"].arguments[0]) if "Version" in calls else 0
    return value if isinstance(value, int) else 0


def last_word(text: str) -> str:
    """Return a name without its namespace."""
    return text.strip().rpartition("::")[2]
