"""REG_OP text -> prototypes, and back (graph/operator_reg.h of CANN's metadef)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.aclnn.constants import read_constant
from opwright.aclnn.dtypes import DTYPE_NUMBERS
from opwright.aclnn.prototype import (
    ATTRIBUTE_KINDS,
    ATTRIBUTE_TYPES,
    Attribute,
    Graph,
    Port,
    Presence,
    Prototype,
    PrototypeError,
    TypeSymbol,
)
from opwright.aclnn.scan import (
    Call,
    bare_name,
    plain_code,
    quote,
    read_chain,
    read_literal,
    read_nested,
    split_arguments,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from opwright.aclnn.prototype import Default, Literals

__all__ = ["START", "parse_reg_op", "prototype", "snake_case", "write_reg_op"]

START = re.compile(r"\bREG_OP\s*(?=\()")
PRESENCE: dict[str, Presence] = {
    "INPUT": "required",
    "OPTIONAL_INPUT": "optional",
    "DYNAMIC_INPUT": "dynamic",
    "OUTPUT": "required",
    "OPTIONAL_OUTPUT": "optional",
    "DYNAMIC_OUTPUT": "dynamic",
}
ATTRIBUTES = ("ATTR", "REQUIRED_ATTR")
GRAPHS = ("GRAPH", "DYNAMIC_GRAPH")
DATATYPE = "DATATYPE"
END = "OP_END_FACTORY_REG"
ALLOWED = sorted({*PRESENCE, *ATTRIBUTES, *GRAPHS, DATATYPE})
SYMBOL = re.compile(r'"?(?P<name>[A-Za-z_]\w*)"?')
# TensorType({DT_A, Set}), TensorType{DT_A}, TensorType::Set(), with or without a namespace. CANN's
# own headers also have one colon, two before the members, and a set without parentheses.
TENSOR_TYPE = re.compile(
    r"(?:\w+::)*TensorType\s*"
    r"(?:::?\s*(?P<set>\w+)\s*(?:\(\s*\))?|(?:::)?\s*[({](?P<members>.*)[)}])",
    re.DOTALL,
)
# Sets of a kind, as TorchAir writes them for operators that it makes itself.
KIND_TYPE = re.compile(r"(?:\w+::)*(?P<set>(?:Bool|Float|Int|String)TensorType)\(\)")
LIST_TYPE = re.compile(r"(?:\w+::)*ListTensorType\s*\((?P<inner>.*)\)", re.DOTALL)
DTYPE = re.compile(r"(?:\w+::)*(DT_\w+)")
# Shapes that graph/types.h names.
NAMED_LISTS = {"UNKNOWN_SHAPE": (-1,), "UNKNOWN_RANK": (-2,)}
PROMOTE = re.compile(r"(?:\w+::)*Promote\s*[({](?P<members>.*)[)}]", re.DOTALL)


def parse_reg_op(text: str, *, where: str) -> tuple[Prototype, ...]:
    """Read all prototypes of a text.

    Of a conditional block (`#if`) the first branch is read, of `#if 0` the other one. Macros that
    the text itself defines without parameters are expanded.

    Parameters
    ----------
    where
        The file, or the place of the text, for error messages.

    Raises
    ------
    PrototypeError
        OPW-K002.
    """
    plain = plain_code(text)
    return tuple(
        prototype(read_chain(plain, match.start(), where=where), where=where)
        for match in START.finditer(plain)
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
    symbols: list[TypeSymbol] = []
    graphs: list[Graph] = []
    for call in chain[1:-1]:
        if call.name in PRESENCE:
            ports = outputs if call.name.endswith("OUTPUT") else inputs
            ports.append(port(call, where=where))
        elif call.name in ATTRIBUTES:
            attributes.append(attribute(call, where=where))
        elif call.name in GRAPHS:
            name = bare_name(call, where=where)
            graphs.append(Graph(name=name, dynamic=call.name == "DYNAMIC_GRAPH"))
        elif call.name == DATATYPE:
            symbols.append(symbol(call, where=where))
        else:
            place = f"{where}:{call.line}, operator {op_type}"
            raise PrototypeError(where=place, got=call.name, allowed=ALLOWED, near=call.name)
    return Prototype(
        op_type=op_type,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        attributes=tuple(attributes),
        symbols=tuple(symbols),
        graphs=tuple(graphs),
    )


def port(call: Call, *, where: str) -> Port:
    """Read an input or output."""
    name = bare_name(call, where=where)
    given = remove_blanks(call.arguments[1:])
    found = SYMBOL.fullmatch(given)
    return Port(
        name=name,
        presence=PRESENCE[call.name],
        dtypes=() if found else tensor_type(given, call, where=where),
        symbol=found["name"] if found else None,
    )


def symbol(call: Call, *, where: str) -> TypeSymbol:
    """Read a DATATYPE."""
    found = SYMBOL.fullmatch(call.arguments[0]) if call.arguments else None
    if found is None:
        raise PrototypeError(
            where=f"{where}:{call.line}",
            got=f"{DATATYPE}({', '.join(call.arguments)})",
            fix="give a symbol as the first argument, for example T",
        )
    given = remove_blanks(call.arguments[1:])
    if promote := PROMOTE.fullmatch(given):
        parts = dtype_parts(promote["members"], given, call, where=where)
        members = tuple(part.strip('"') for part in parts)
        return TypeSymbol(name=found["name"], dtypes=members, promoted=True)
    as_list = LIST_TYPE.fullmatch(given)
    dtypes = tensor_type(as_list["inner"] if as_list else given, call, where=where)
    return TypeSymbol(name=found["name"], dtypes=dtypes, is_list=as_list is not None)


def remove_blanks(arguments: tuple[str, ...]) -> str:
    """Return what says dtypes, which needs no blanks."""
    return "".join(",".join(arguments).split())


def tensor_type(text: str, call: Call, *, where: str) -> tuple[str, ...]:
    """Read the dtypes that a TensorType names."""
    if text in {"", "TensorType", "TensorType()", "TensorType({})"}:
        return ()
    if kind := KIND_TYPE.fullmatch(text):
        return (kind["set"],)
    match = TENSOR_TYPE.fullmatch(text)
    if match is None:
        raise not_dtypes(text, call, where=where)
    if match["set"]:
        return (match["set"],)
    members = dtype_parts(match["members"], text, call, where=where)
    names = (member.rpartition("::")[2].removesuffix("()") for member in members if member)
    return tuple(dict.fromkeys(names))


def dtype_parts(members: str, text: str, call: Call, *, where: str) -> tuple[str, ...]:
    """Split what stands between the brackets of a text that says dtypes."""
    try:
        return split_arguments(members.strip("{}"))
    except PrototypeError as error:
        raise not_dtypes(text, call, where=where) from error


def not_dtypes(text: str, call: Call, *, where: str) -> PrototypeError:
    """Return the error of a text that does not say dtypes."""
    return PrototypeError(
        where=f"{where}:{call.line}, {call.name} {call.arguments[0]}",
        got=f"dtypes {text!r}",
        allowed=('"T"', "TensorType({DT_...})", "TensorType::ALL()"),
        fix="write the dtypes as operator_reg.h takes them",
    )


def attribute(call: Call, *, where: str) -> Attribute:
    """Read an attribute."""
    name = bare_name(call, where=where)
    kind = call.arguments[1] if len(call.arguments) > 1 else ""
    if kind not in ATTRIBUTE_KINDS:
        raise PrototypeError(
            where=f"{where}:{call.line}, attribute {name}",
            got=f"type {kind!r}",
            allowed=ATTRIBUTE_KINDS,
            near=kind,
            fix="use an attribute type of operator_reg.h",
        )
    ctype = ATTRIBUTE_TYPES.get(kind)
    # An initialiser list with commas is one argument of the macro, but several of a call.
    initialiser = ", ".join(call.arguments[2:])
    return Attribute(
        name=name,
        ctype=ctype,
        required=call.name == "REQUIRED_ATTR",
        default=read_default(kind, initialiser) if initialiser else None,
        kind="" if ctype else kind,
    )


def read_default(kind: str, text: str) -> Default | None:
    """Read the default of an attribute; None for what is not a constant."""
    try:
        return default(kind, text)
    except PrototypeError:  # brackets that do not pair, for example in a text without its end
        return None


def default(kind: str, text: str) -> Default | None:
    """Read a default whose brackets pair."""
    if kind == "Type":
        return dtype_name(text)
    if kind == "ListType":
        return read_list(text, dtype_name)
    if kind == "ListListInt":
        return read_nested(text)
    value = NAMED_LISTS.get(text.rpartition("::")[2]) or read_literal(text)
    if value is None:
        value = read_list(text, number) if text.startswith("{") else number(text)
    return as_kind(kind, value)


def dtype_name(text: str) -> str | None:
    """Read the name of a dtype."""
    dtype = DTYPE.fullmatch(text)
    return dtype[1] if dtype else None


def number(text: str) -> int | float | None:
    """Read a number, of which dtypes are some."""
    name = dtype_name(text)
    return DTYPE_NUMBERS.get(name.removeprefix("DT_")) if name else read_constant(text)


def read_list(
    text: str, read: Callable[[str], int | float | str | None]
) -> tuple[int | float | str, ...] | None:
    """Read a brace list; None if there is none, or if it has something else."""
    if not (text.startswith("{") and text.endswith("}")):
        return None
    values = [read(item) for item in split_arguments(text[1:-1]) if item]
    return None if None in values else tuple(value for value in values if value is not None)


def as_kind(kind: str, value: Literals | None) -> Literals | None:
    """Convert as C++ does: integers to numbers with a point, and 0 and 1 to false and true."""
    match kind, value:
        case "Bool", 0 | 1:
            return bool(value)
        case "Float", int() if not isinstance(value, bool):
            return float(value)
        case "ListFloat", tuple() if not any(isinstance(each, str | bool) for each in value):
            return tuple(float(each) for each in value)
    return value


def snake_case(name: str) -> str:
    """Return an operator type as an operator's name.

    >>> snake_case("RmsNorm"), snake_case("MatMulV3"), snake_case("BNLL")
    ('rms_norm', 'mat_mul_v3', 'bnll')
    """
    parts = re.sub(r"([a-z0-9])([A-Z])|([A-Z]+)([A-Z][a-z])", r"\1\3_\2\4", name)
    return parts.lower().strip("_")


def write_reg_op(prototype: Prototype) -> str:
    """Write a prototype, one line for each of its parts.

    Examples
    --------
    >>> x = Port(name="x", dtypes=("DT_FLOAT",))
    >>> print(write_reg_op(Prototype(op_type="Neg", inputs=(x,), outputs=())))
    REG_OP(Neg)
        .INPUT(x, TensorType({DT_FLOAT}))
        .OP_END_FACTORY_REG(Neg)
    """
    names: dict[tuple[bool, Presence], str] = {
        (name.endswith("OUTPUT"), presence): name for name, presence in PRESENCE.items()
    }
    # An output that may be absent is an output; what is optional of it is a matter of the kernel.
    names[(True, "optional")] = "OUTPUT"
    lines = [
        f".{names[(is_output, port.presence)]}({port.name}, {port_types(port)})"
        for is_output, ports in ((False, prototype.inputs), (True, prototype.outputs))
        for port in ports
    ]
    lines += [f".{attribute_text(attribute)}" for attribute in prototype.attributes]
    lines += [f".{DATATYPE}({s.name}, {symbol_types(s)})" for s in prototype.symbols]
    lines += [f".{GRAPHS[graph.dynamic]}({graph.name})" for graph in prototype.graphs]
    end = f".{END}({prototype.op_type})"
    return "\n    ".join([f"REG_OP({prototype.op_type})", *lines, end])


def port_types(port: Port) -> str:
    """Write the dtypes of a port."""
    return f'"{port.symbol}"' if port.symbol else types_text(tuple(dict.fromkeys(port.dtypes)))


def symbol_types(symbol: TypeSymbol) -> str:
    """Write what a symbol stands for."""
    if symbol.promoted:
        return "Promote({" + ", ".join(f'"{name}"' for name in symbol.dtypes) + "})"
    text = types_text(symbol.dtypes)
    return f"ListTensorType({text})" if symbol.is_list else text


def types_text(names: tuple[str, ...]) -> str:
    """Write dtypes."""
    if len(names) == 1 and not names[0].startswith("DT_"):
        return f"TensorType::{names[0]}()"
    return "TensorType({" + ", ".join(names) + "})"


def attribute_text(attribute: Attribute) -> str:
    """Write an attribute."""
    kind = attribute.type_name
    if attribute.required:
        return f"REQUIRED_ATTR({attribute.name}, {kind})"
    value = initialiser(kind, attribute.default)
    return f"ATTR({attribute.name}, {kind}, {value})"


# Default of a parameter whose own is none, or no literal.
EMPTY = {
    "Int": "0",
    "Float": "0.0",
    "Bool": "false",
    "String": '""',
    "AscendString": '""',
    "Type": "DT_UNDEFINED",
    "Tensor": "Tensor()",
    "NamedAttrs": "NamedAttrs()",
    "Bytes": "Buffer()",
}


def initialiser(kind: str, value: Default | None) -> str:
    """Write a default as C++."""
    if value is None:
        return EMPTY.get(kind, "{}")
    if isinstance(value, tuple):
        inner = "Type" if kind == "ListType" else ""
        return "{" + ", ".join(initialiser(inner, item) for item in value) + "}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and kind != "Type":
        return quote(value)
    return str(value)
