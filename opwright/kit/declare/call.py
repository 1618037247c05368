"""How an operator calls its aclnn function: the C parameters, and where each value comes from.

The text names the function and its parameters in order:
`"aclnnRescale(x, float factor, axis or 0, true, out)"`. A parameter is the name of an argument or
output, `x.dtype`, `generator.seed` and `generator.offset`, or a literal; `or` gives what stands for
None. A C type in front of it says what
the function takes where that does not follow from the schema. A full C signature is such a text as
well.
"""

from __future__ import annotations

import ast
import re
import typing
from dataclasses import dataclass
from typing import TypeAlias

from opwright.aclnn.signature import CType
from opwright.kit.declare.errors import CallError
from opwright.kit.declare.schema_text import split
from opwright.kit.declare.texts import check_value

__all__ = [
    "Actual",
    "Call",
    "DrawnFrom",
    "DrawnPart",
    "DtypeOf",
    "Literal",
    "Named",
    "camel_case",
    "function_name",
    "parse_call",
]


DrawnPart: TypeAlias = typing.Literal["seed", "offset"]


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; None is a null pointer."""

    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Named:
    """The argument or output of this name.

    Parameters
    ----------
    otherwise
        What is passed where the argument is None; a null pointer if that is not given.
    """

    name: str
    otherwise: Literal | None = None


@dataclass(frozen=True, slots=True)
class DtypeOf:
    """The dtype of the tensor argument or output of this name."""

    name: str


@dataclass(frozen=True, slots=True)
class DrawnFrom:
    """A number that a call draws from the generator of this name: the device's where it is None.

    Seed and offset of one call belong together, and the next call has another offset.
    """

    name: str
    part: DrawnPart


@dataclass(frozen=True, slots=True, kw_only=True)
class Actual:
    """The value for one C parameter; the type is None where it follows from the rest."""

    source: Named | DtypeOf | DrawnFrom | Literal
    ctype: CType | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call as the author wrote it; no parameters if only the function was named."""

    function: str
    actuals: tuple[Actual, ...] | None = None


def camel_case(name: str) -> str:
    """Return an operator's name as operator types and aclnn functions have it.

    >>> camel_case("rms_norm_"), camel_case("npu_add_rms_norm")
    ('RmsNorm', 'NpuAddRmsNorm')
    """
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def function_name(call: Call | None, operator: str) -> str:
    """Return the name of the aclnn function: the one that was named, or the operator's."""
    return call.function if call else f"aclnn{camel_case(operator)}"


FUNCTION = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*(?:\((?P<rest>.*)\)\s*;?)?", re.DOTALL)
TYPED = re.compile(
    r"(?:const\s+)?(?P<type>[A-Za-z_]\w*)\s*(?:\*\s*|\s)(?!or\b)(?P<value>.+)", re.DOTALL
)
NAME = re.compile(r"[A-Za-z_]\w*")
OTHERWISE = re.compile(r"(?P<name>[A-Za-z_]\w*)\s+or\s+(?P<value>\S.*)")
DTYPE_OF = re.compile(r"(?P<name>[A-Za-z_]\w*)\.dtype")
DRAWN = re.compile(r"(?P<name>[A-Za-z_]\w*)\.(?P<part>seed|offset)")
LITERALS: dict[str, bool | None] = {"true": True, "false": False, "nullptr": None}
C_TYPES = {ctype.value: ctype for ctype in CType} | {"int": CType.INT32}


def parse_call(text: str, *, where: str) -> Call:
    """Read a call.

    Raises
    ------
    CallError
        OPW-D006.

    Examples
    --------
    >>> parse_call("aclnnNeg", where="example")
    Call(function='aclnnNeg', actuals=None)
    >>> parse_call("aclnnRescale(x, float factor, out)", where="example").actuals[1]
    Actual(source=Named(name='factor', otherwise=None), ctype=<CType.FLOAT: 'float'>)
    """
    match = FUNCTION.fullmatch(text.strip())
    if match is None:
        raise CallError(where=where, got=repr(text))
    name = match["name"].removesuffix("GetWorkspaceSize")
    if match["rest"] is None:
        return Call(function=name)
    parts = split(match["rest"])
    if match["name"] != name:  # a declaration of phase 1: it ends with workspaceSize and executor
        parts = [part for part in parts if not re.search(r"\buint64_t\s*\*|aclOpExecutor", part)]
    place = f"{where}, {name}"
    return Call(function=name, actuals=tuple(read_actual(part, where=place) for part in parts))


def read_actual(part: str, *, where: str) -> Actual:
    """Read one parameter."""
    match = TYPED.fullmatch(part)
    if match is None or not NAME.fullmatch(match["type"]):
        return Actual(source=read_source(part, where=where))
    ctype = C_TYPES.get(match["type"])
    if ctype is None:
        raise CallError(
            where=f"{where}, parameter {part!r}",
            got=f"type {match['type']!r}",
            allowed=C_TYPES,
            near=match["type"],
            fix="use a C type that aclnn functions have",
        )
    return Actual(source=read_source(match["value"].strip(), where=where), ctype=ctype)


def read_source(text: str, *, where: str) -> Named | DtypeOf | DrawnFrom | Literal:
    """Read where a value comes from."""
    if otherwise := OTHERWISE.fullmatch(text):
        return Named(otherwise["name"], read_literal(otherwise["value"], where=where))
    if dtype := DTYPE_OF.fullmatch(text):
        return DtypeOf(dtype["name"])
    if drawn := DRAWN.fullmatch(text):
        return DrawnFrom(drawn["name"], "seed" if drawn["part"] == "seed" else "offset")
    if NAME.fullmatch(text) and text not in {*LITERALS, "None", "True", "False"}:
        return Named(text)
    return read_literal(text, where=where)


def read_literal(text: str, *, where: str) -> Literal:
    """Read a constant, in C's or Python's words."""
    if text in LITERALS:
        return Literal(LITERALS[text])
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError) as error:
        raise CallError(where=where, got=f"parameter {text!r}") from error
    if value is not None and not isinstance(value, bool | int | float | str):
        raise CallError(where=where, got=f"parameter {text!r}", fix="write one value")
    if isinstance(value, str):
        check_value(value, where=where)
    return Literal(value)
