"""Just enough C++ to read prototypes: comments, literals, chains of calls such as .A(x).B({1})."""

from __future__ import annotations

import re
from dataclasses import dataclass

from opwright.aclnn.prototype import Literals, PrototypeError

__all__ = ["Call", "bare_name", "quoted_name", "read_chain", "read_literal", "without_comments"]

TOKEN = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?P<comment>//[^\n]*|/\*.*?\*/)""",
    re.DOTALL,
)
CALL = re.compile(r"\s*(?:\.|->)?\s*([A-Za-z_]\w*)\s*\(")
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fFlLuU]*")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
CLOSING = {"(": ")", "{": "}", "[": "]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call in a chain: its name, its arguments as text, and the line where it begins."""

    name: str
    arguments: tuple[str, ...]
    line: int


def without_comments(text: str) -> str:
    """Return the text with comments replaced by blanks, so that positions and lines stay."""

    def blank(match: re.Match[str]) -> str:
        return match[0] if match["string"] else re.sub(r"[^\n]", " ", match[0])

    return TOKEN.sub(blank, text)


def read_chain(text: str, start: int, *, where: str) -> tuple[Call, ...]:
    """Read the calls that begin at a position: NAME(…), then .NAME(…) as long as they follow."""
    calls: list[Call] = []
    position = start
    while match := CALL.match(text, position):
        if calls and not re.match(r"\s*\.", text[position:]):
            break
        end, arguments = read_arguments(text, match.end(), where=where)
        line = text.count("\n", 0, match.start(1)) + 1
        calls.append(Call(name=match[1], arguments=arguments, line=line))
        position = end
    return tuple(calls)


def read_arguments(text: str, start: int, *, where: str) -> tuple[int, tuple[str, ...]]:
    """Read arguments up to the closing parenthesis; return its end and the arguments."""
    expected = [")"]
    arguments: list[str] = []
    begin = position = start
    while position < len(text):
        if string := TOKEN.match(text, position):
            position = string.end()
            continue
        character = text[position]
        if character in CLOSING:
            expected.append(CLOSING[character])
        elif character == expected[-1]:
            expected.pop()
            if not expected:
                last = text[begin:position].strip()
                return position + 1, (*arguments, last) if last or arguments else ()
        elif character == "," and len(expected) == 1:
            arguments.append(text[begin:position].strip())
            begin = position + 1
        position += 1
    line = text.count("\n", 0, start) + 1
    raise PrototypeError(
        where=f"{where}:{line}",
        got="a parenthesis that is not closed",
        fix="close it",
    )


def read_literal(text: str) -> Literals | None:
    """Return the value of a literal or a brace list of literals; None for anything else.

    >>> read_literal("{1, 2.5f}")
    (1, 2.5)
    """
    text = text.strip()
    if text in {"true", "false"}:
        return text == "true"
    if NUMBER.fullmatch(text):
        digits = text.rstrip("fFlLuU")
        return float(digits) if re.search(r"[.eE]", digits) else int(digits)
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].encode().decode("unicode_escape")
    if text.startswith("{") and text.endswith("}"):
        _, parts = read_arguments(f"{text[1:-1]})", 0, where="")
        values = [read_literal(part) for part in parts]
        if all(isinstance(value, bool | int | float | str) for value in values):
            return tuple(value for value in values if isinstance(value, bool | int | float | str))
    return None


def bare_name(call: Call, *, where: str) -> str:
    """Return the first argument, which must be an identifier."""
    if call.arguments and IDENTIFIER.fullmatch(call.arguments[0]):
        return call.arguments[0]
    raise PrototypeError(
        where=f"{where}:{call.line}",
        got=f"{call.name}({', '.join(call.arguments)})",
        fix="give a name as the first argument",
    )


def quoted_name(call: Call, *, where: str) -> str:
    """Return the first argument, which must be a string with an identifier."""
    value = read_literal(call.arguments[0]) if call.arguments else None
    if isinstance(value, str) and IDENTIFIER.fullmatch(value):
        return value
    raise PrototypeError(
        where=f"{where}:{call.line}",
        got=f"{call.name}({', '.join(call.arguments)})",
        fix="give a name in quotes as the first argument",
    )
