"""The keys `exec` and `new_params` of op-plugin's YAML <-> the call of an aclnn function."""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING

from opwright.aclnn.signature import CType
from opwright.kit.declare.call import (
    Actual,
    Call,
    DrawnFrom,
    DtypeOf,
    Literal,
    Named,
    function_name,
)
from opwright.kit.declare.schema import Base
from opwright.kit.formats.errors import NotWritableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.kit.declare.schema import Argument, Schema

__all__ = ["Inexpressible", "default_names", "read_call", "write_call"]

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
SUFFIXED = re.compile(rf"(?P<number>{NUMBER.pattern})(?P<suffix>[lLuU]*|[fF])")
C_CAST = re.compile(r"\((?P<type>\w+)\)\s*(?P<value>-?\d+)")
STATIC_CAST = re.compile(r"static_cast<(?P<type>\w+)>\((?P<value>[^()]+)\)")
CHARS = re.compile(r"const_cast<char\s*\*>\((?P<name>\w+)\.(?:data|c_str)\(\)\)")
OPTIONAL_CHARS = re.compile(
    r"(?P<name>\w+)\.has_value\(\) \? "
    r"const_cast<char\s*\*>\((?P=name)\.value\(\)\.(?:data|c_str)\(\)\) : nullptr"
)
VALUE_OR = re.compile(r"(?P<name>\w+)\.value_or\((?P<value>.+)\)")
SCALAR = re.compile(r"at::Scalar\((?P<name>\w+)\)")
DTYPE_OF = re.compile(r"(?P<name>\w+)\.scalar_type\(\)")
CASTS = {
    "float": CType.FLOAT,
    "double": CType.DOUBLE,
    "bool": CType.BOOL,
    "int64_t": CType.INT64,
    "int32_t": CType.INT32,
    "int": CType.INT32,
    "int16_t": CType.INT16,
    "int8_t": CType.INT8,
    "uint64_t": CType.UINT64,
    "uint32_t": CType.UINT32,
    "uint16_t": CType.UINT16,
    "uint8_t": CType.UINT8,
}
CAST_NAMES = {ctype: name for name, ctype in CASTS.items() if name != "int"}


class Inexpressible(Exception):  # noqa: N818 - no error: the entry is kept as it is
    """A parameter that a call cannot say; its text is the argument."""


def default_names(schema: Schema, outputs: Sequence[str]) -> tuple[str, ...]:
    """Return what op-plugin passes where an entry names only the function."""
    return (*(argument.name for argument in schema.arguments), *outputs)


def follows_from_schema(schema: Schema) -> bool:
    """Whether a call by name alone means the same for op-plugin and for a declaration.

    Both pass arguments and then outputs; but a declaration may pass all tensors first, as CANN's
    generator does, and leaves out arguments that only say how to allocate.
    """
    given = [a for a in schema.arguments if not a.is_out]
    kinds = [argument.type.has_tensors for argument in given]
    tensors_first = kinds == sorted(kinds, reverse=True)
    return tensors_first and all(not a.type.base.is_allocation for a in given)


def read_call(
    text: str, new_params: Mapping[str, str], schema: Schema, outputs: Mapping[str, str]
) -> Call:
    """Read a call.

    Parameters
    ----------
    text
        `aclnnName`, or `aclnnName, parameter, ...`.
    new_params
        C++ expressions by name.
    outputs
        The names of new outputs in a declaration, by their names in the entry.

    Raises
    ------
    Inexpressible
        With the parameter that cannot be said.
    """
    function, *names = [part.strip() for part in text.split(",")]
    if not names:
        if follows_from_schema(schema):
            return Call(function=function)
        actuals = [
            Actual(source=Named(name)) for name in default_names(schema, [*outputs.values()])
        ]
        return Call(function=function, actuals=tuple(actuals))
    known = {**{argument.name: argument.name for argument in schema.arguments}, **outputs}
    return Call(
        function=function,
        actuals=tuple(
            read_parameter(new_params[name], schema)
            if name in new_params
            else Actual(source=Named(known.get(name, name)))
            for name in names
        ),
    )


def read_parameter(text: str, schema: Schema) -> Actual:
    """Read the expression of a new parameter."""
    text = text.strip()
    if match := STATIC_CAST.fullmatch(text):
        ctype = CASTS.get(match["type"])
        if ctype is not None and (schema.argument(match["value"]) or is_number(match["value"])):
            return Actual(source=value_or_name(match["value"]), ctype=ctype)
    if (match := C_CAST.fullmatch(text)) and (ctype := CASTS.get(match["type"])):
        value = Literal(int(match["value"]))
        return Actual(source=value, ctype=None if ctype is CType.INT64 else ctype)
    if match := (CHARS.fullmatch(text) or OPTIONAL_CHARS.fullmatch(text)):
        argument = schema.argument(match["name"])
        if argument is not None and argument.type.base is Base.STR:
            return Actual(source=Named(match["name"]))
    if match := VALUE_OR.fullmatch(text):
        argument = schema.argument(match["name"])
        if argument is not None and argument.type.optional:
            literal, _ = read_literal(match["value"])
            return Actual(source=Named(match["name"], literal))
    if (match := SCALAR.fullmatch(text)) and schema.argument(match["name"]):
        return Actual(source=Named(match["name"]), ctype=CType.SCALAR)
    if match := DTYPE_OF.fullmatch(text):
        argument = schema.argument(match["name"])
        if argument is not None and argument.type.is_tensor:
            return Actual(source=DtypeOf(match["name"]))
    literal, ctype = read_literal(text)
    return Actual(source=literal, ctype=ctype)


def is_number(text: str) -> bool:
    """Whether a text is a number in C++."""
    return bool(SUFFIXED.fullmatch(text))


def value_or_name(text: str) -> Named | Literal:
    """Read what is cast."""
    return read_literal(text)[0] if is_number(text) else Named(text)


def read_literal(text: str) -> tuple[Literal, CType | None]:
    """Read a literal of C++, and its type where that is not the usual one."""
    if text in {"true", "false"}:
        return Literal(text == "true"), None
    if text == "nullptr":
        return Literal(None), None
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            return Literal(str(ast.literal_eval(text))), None
        except (SyntaxError, ValueError) as error:
            raise Inexpressible(text) from error
    match = SUFFIXED.fullmatch(text)
    if match is None:
        raise Inexpressible(text)
    number: int | float = ast.literal_eval(match["number"].lstrip("+"))
    return Literal(number), CType.FLOAT if match["suffix"].lower() == "f" else None


def write_call(
    call: Call | None, schema: Schema, outputs: Sequence[str], *, where: str
) -> tuple[str, dict[str, str]]:
    """Write a call.

    Returns
    -------
    exec, new_params

    Raises
    ------
    NotWritableError
        OPW-S006.
    """
    for argument in schema.arguments:
        if argument.type.is_list and argument.type.base is Base.FLOAT:
            raise NotWritableError(
                where=where,
                got=f"{argument}, for which EXEC_NPU_CMD makes no aclFloatArray",
                fix="write the adapter of this operator by hand",
            )
    for argument in schema.generators:
        raise report_undrawable(argument.name, where=where)
    function = function_name(call, schema.name)
    actuals = call.actuals if call else None
    if actuals is None and follows_from_schema(schema) and not any(map(is_chars, schema.arguments)):
        return function, {}
    if actuals is None:
        names = in_order_of_generator(schema, outputs)
        actuals = tuple(Actual(source=Named(name)) for name in names)
    names = []
    new_params: dict[str, str] = {}
    taken = {*default_names(schema, outputs)}
    for actual in actuals:
        if isinstance(actual.source, Named) and is_plain(actual, schema):
            names.append(actual.source.name)
            continue
        text = parameter_text(actual, schema, where=where)
        name = free_name(actual, taken)
        taken.add(name)
        new_params[name] = text
        names.append(name)
    return ", ".join([function, *names]), new_params


def in_order_of_generator(schema: Schema, outputs: Sequence[str]) -> list[str]:
    """Return arguments and outputs as CANN's generator orders them: tensors, others, outputs."""
    last = [a.name for a in schema.arguments if a.is_out]
    given = [a for a in schema.arguments if a.name not in last and not a.type.base.is_allocation]
    ordered = sorted(given, key=lambda argument: not argument.type.has_tensors)
    return [*(argument.name for argument in ordered), *last, *outputs]


def is_chars(argument: Argument) -> bool:
    """Whether a function takes char * for an argument; EXEC_NPU_CMD does not convert strings."""
    return argument.type.base is Base.STR and not argument.type.is_list


def is_plain(actual: Actual, schema: Schema) -> bool:
    """Whether a parameter is the argument or output itself."""
    if not isinstance(actual.source, Named) or actual.source.otherwise is not None:
        return False
    argument = schema.argument(actual.source.name)
    if argument is not None and is_chars(argument):
        return False
    return actual.ctype is None


def free_name(actual: Actual, taken: set[str]) -> str:
    """Return a name for a new parameter, derived from what it stands for."""
    source = actual.source
    stem = "constant" if isinstance(source, Literal) else f"{source.name}_value"
    if isinstance(source, Named) and actual.ctype is not None:
        stem = f"{source.name}_{CAST_NAMES.get(actual.ctype, 'value').removesuffix('_t')}"
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}{number}"
    return name


def parameter_text(actual: Actual, schema: Schema, *, where: str) -> str:
    """Write the expression of a new parameter."""
    source, ctype = actual.source, actual.ctype
    if isinstance(source, DtypeOf):
        return f"{source.name}.scalar_type()"
    if isinstance(source, Literal):
        return literal_text(source, ctype)
    if isinstance(source, DrawnFrom):
        raise report_undrawable(source.name, where=where)
    argument = schema.argument(source.name)
    text = source.name
    if argument is not None and is_chars(argument):
        return chars_text(argument, source, where=where)
    if source.otherwise is not None:
        text = f"{text}.value_or({literal_text(source.otherwise, None)})"
    if ctype is CType.SCALAR:
        return f"at::Scalar({text})"
    if ctype is None:
        return text
    if ctype not in CAST_NAMES:
        raise NotWritableError(
            where=where,
            got=f"{ctype.value} {source.name}",
            fix="write the adapter of this operator by hand",
        )
    return f"static_cast<{CAST_NAMES[ctype]}>({text})"


def report_undrawable(generator: str, *, where: str) -> NotWritableError:
    """Return the error for a generator: op-plugin's entries draw nothing."""
    return NotWritableError(
        where=where,
        got=f"the generator {generator!r}, from which EXEC_NPU_CMD draws no seed",
        fix="write the adapter of this operator by hand",
    )


def chars_text(argument: Argument, source: Named, *, where: str) -> str:
    """Write a string as the char * that aclnn functions take."""
    name = argument.name
    if source.otherwise is not None:
        if not isinstance(source.otherwise.value, str):
            raise NotWritableError(where=where, got=f"{name} or {source.otherwise.value!r}")
        other = json.dumps(source.otherwise.value)
        return f"const_cast<char *>({name}.value_or({other}).data())"
    if argument.type.optional:
        return f"{name}.has_value() ? const_cast<char *>({name}.value().data()) : nullptr"
    return f"const_cast<char *>({name}.data())"


def literal_text(literal: Literal, ctype: CType | None) -> str:
    """Write a literal."""
    value = literal.value
    if value is None:
        return "nullptr"
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
    else:
        text = repr(value)
    if ctype in CAST_NAMES:
        return f"static_cast<{CAST_NAMES[ctype]}>({text})"
    return f"(int64_t){text}" if isinstance(value, int) and not isinstance(value, bool) else text
