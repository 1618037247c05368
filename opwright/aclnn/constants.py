"""Constants of C++ as headers have them for defaults: arithmetic and the limits of numbers."""

from __future__ import annotations

import ast
import operator
import re
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["read_constant"]

Number = int | float

FLT_MAX, FLT_MIN = (
    struct.unpack(">f", bytes.fromhex(digits))[0] for digits in ("7f7fffff", "00800000")
)
# The limits of <climits>, <cstdint> and <cfloat>.
LIMITS: dict[str, Number] = {
    **{f"INT{bits}_MAX": 2 ** (bits - 1) - 1 for bits in (8, 16, 32, 64)},
    **{f"INT{bits}_MIN": -(2 ** (bits - 1)) for bits in (8, 16, 32, 64)},
    **{f"UINT{bits}_MAX": 2**bits - 1 for bits in (8, 16, 32, 64)},
    "INT_MAX": 2**31 - 1,
    "INT_MIN": -(2**31),
    "FLT_MAX": FLT_MAX,
    "FLT_MIN": FLT_MIN,
    "FLT_LOWEST": -FLT_MAX,
    "FLT_EPSILON": 2.0**-23,
    "FLT_INFINITY": float("inf"),
}
# std::numeric_limits<int64_t>::max() is INT64_MAX.
NUMERIC_LIMITS = re.compile(
    r"(?:std::)?numeric_limits<(?P<type>int|int8_t|int16_t|int32_t|int64_t|float)>"
    r"::(?P<which>max|min|lowest|infinity|epsilon)\(\)"
)
NUMBER = re.compile(
    r"(?<![\w.])(?P<digits>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r"(?P<suffix>[fFlLuU]*)(?![\w.])"
)
NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
ALLOWED = re.compile(r"[\w\s.()+*/%<>-]+")
MOST_SHIFT = 64


def quotient(left: Number, right: Number) -> Number:
    """Divide as C++ does: integers are truncated."""
    if isinstance(left, int) and isinstance(right, int):
        whole = abs(left) // abs(right)
        return whole if (left < 0) == (right < 0) else -whole
    return left / right


def shift(left: Number, right: Number) -> Number:
    """Shift to the left."""
    if isinstance(left, int) and isinstance(right, int) and 0 <= right < MOST_SHIFT:
        return left << right
    raise ValueError


OPERATORS: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: quotient,
    ast.LShift: shift,
}


def read_constant(text: str) -> Number | None:
    """Return the value of an expression of numbers and limits; None for anything else.

    >>> read_constant("1 << 4"), read_constant("1.0f / 4"), read_constant("INT64_MAX - 1")
    (16, 0.25, 9223372036854775806)
    >>> read_constant("x + 1") is None
    True
    """
    plain = NUMERIC_LIMITS.sub(limit_name, "".join(text.split()) if "<" in text else text)
    plain = NAME.sub(lambda match: repr(LIMITS.get(match[0], match[0])), plain)
    plain = NUMBER.sub(python_number, plain)
    if not ALLOWED.fullmatch(plain):
        return None
    try:
        return value_of(ast.parse(plain.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        # Python's parser calls what is nested too deeply a MemoryError.
        return None


def limit_name(match: re.Match[str]) -> str:
    """Return the macro that has the value of a numeric limit."""
    which = match["which"].upper()
    if match["type"] == "float":
        return f"FLT_{which}"
    name = match["type"].removesuffix("_t").upper()
    return f"{name}_{'MIN' if which == 'LOWEST' else which}"


def python_number(match: re.Match[str]) -> str:
    """Return a literal as Python writes it."""
    digits = match["digits"]
    is_octal = digits.isdigit() and digits.startswith("0") and digits.strip("0")
    return f"0o{digits}" if is_octal else digits


def value_of(node: ast.expr) -> Number:
    """Return the value of a part of an expression.

    Raises
    ------
    ValueError
        Something else than arithmetic with numbers.
    """
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub()):
            return -value_of(node.operand)
        case ast.UnaryOp(op=ast.UAdd()):
            return value_of(node.operand)
        case ast.BinOp() if type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value_of(node.left), value_of(node.right))
    raise ValueError
