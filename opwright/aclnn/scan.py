"""Just enough C++ to read prototypes: comments, literals, chains of calls such as .A(x).B({1})."""

from __future__ import annotations

import re
from dataclasses import dataclass

from opwright.aclnn.prototype import Literals, PrototypeError

__all__ = [
    "Call",
    "bare_name",
    "blank_comments",
    "find_quoted_includes",
    "find_skipped_branches",
    "plain_code",
    "quote",
    "read_chain",
    "read_literal",
    "read_nested",
    "read_quoted_name",
    "split_arguments",
]

TOKEN = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?P<comment>//[^\n]*|/\*.*?\*/)""",
    re.DOTALL,
)
CALL = re.compile(r"\s*(?:\.|->)?\s*([A-Za-z_]\w*)\s*\(")
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fFlLuU]*")
OCTAL = re.compile(r"[-+]?0[0-7]+")
# Literals next to each other are one text.
STRING = re.compile(r'"((?:\\.|[^"\\])*)"\s*', re.DOTALL)
STRINGS = re.compile(rf"(?:{STRING.pattern})+", re.DOTALL)
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
HEXADECIMAL = re.compile(r"(0[xX][0-9a-fA-F]+)[lLuU]*")
CLOSING = {"(": ")", "{": "}", "[": "]"}
DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(\w+)(.*)", re.DOTALL)
OBJECT_MACRO = re.compile(r"\s+([A-Za-z_]\w*)(?:\s+(.*\S))?\s*", re.DOTALL)
INCLUDE = re.compile(r'"([^"\n]+)"')
# Octal escapes end after three digits; hexadecimal ones take every digit that follows.
ESCAPES = {
    **{code: f"\\{code:03o}" for code in (*range(0x20), 0x7F)},
    **str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}),
}
NEXT = re.compile(r"\s*\.")
# Far more than a header needs: macros that name each other twice grow without end.
MOST_EXPANDED = 1_000_000  # characters
MOST_NESTED = 100
MOST_DIGITS = 100
LINE = re.compile(r"[^\n]*?(?:\\\n[^\n]*?)*(?:\n|\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call in a chain: its name, its arguments as text, and the line where it begins."""

    name: str
    arguments: tuple[str, ...]
    line: int


def blank_comments(text: str) -> str:
    """Return the text with comments replaced by blanks, so that positions and lines stay."""

    def blank(match: re.Match[str]) -> str:
        return match[0] if match["string"] else re.sub(r"[^\n]", " ", match[0])

    return TOKEN.sub(blank, text)


def plain_code(text: str) -> str:
    """Return the text without comments and directives; lines stay where they are.

    Of a conditional block the first branch stays, of `#if 0` the other one. Macros that the text
    defines without parameters are expanded.

    Raises
    ------
    PrototypeError
        OPW-K002: macros that expand to more than any header has.
    """
    code, macros, _, _ = preprocess(text)
    if not macros:
        return code
    names = "|".join(map(re.escape, macros))
    pattern = re.compile(rf"""(?P<string>"(?:\\.|[^"\\])*")|\b(?:{names})\b""", re.DOTALL)

    left = MOST_EXPANDED

    def expanded(part: str, hidden: frozenset[str]) -> str:
        """Expand macros; inside of its own text a macro is a plain name, as in C."""

        def one(match: re.Match[str]) -> str:
            nonlocal left
            name = match[0]
            if match["string"] or name in hidden:
                return name
            left -= len(macros[name]) + 1
            if left < 0 or len(hidden) == MOST_NESTED:
                limits = f"{MOST_EXPANDED} characters, {MOST_NESTED} macros in each other"
                raise PrototypeError(
                    where=f"#define {name}",
                    got="macros that expand to more than is read",
                    allowed=[limits],
                    fix="write the value out",
                )
            return expanded(macros[name], hidden | {name})

        return pattern.sub(one, part)

    return expanded(code, frozenset())


def find_skipped_branches(text: str) -> tuple[int, ...]:
    """Return the lines at which branches begin that `plain_code` leaves out."""
    return preprocess(text)[2]


def find_quoted_includes(text: str) -> tuple[str, ...]:
    r"""Return the files that a text includes with quotes, without those of branches left out.

    >>> find_quoted_includes('#include <map>\n#include "a.h"\n#if 0\n#include "b.h"\n#endif')
    ('a.h',)
    """
    return preprocess(text)[3]


def preprocess(text: str) -> tuple[str, dict[str, str], tuple[int, ...], tuple[str, ...]]:
    """Blank directives and branches.

    Returns
    -------
    code, macros, skipped, includes
        The code; macros without parameters; the lines of branches left out; included files.
    """
    kept: list[str] = []
    macros: dict[str, str] = {}
    skipped: list[int] = []
    includes: list[str] = []
    open_blocks: list[tuple[bool, bool]] = []  # whether this branch stays, whether one has stayed
    line = 1
    for match in LINE.finditer(blank_comments(text)):
        whole = match[0]
        directive = DIRECTIVE.fullmatch(whole)
        stays = all(block[0] for block in open_blocks)
        if directive is None:
            kept.append(whole.replace("\\\n", " \n") if stays else "\n" * whole.count("\n"))
        else:
            kept.append("\n" * whole.count("\n"))
            word, rest = directive[1], directive[2].strip()
            if word in {"if", "ifdef", "ifndef"}:
                never = word == "if" and rest == "0"
                open_blocks.append((not never, not never))
                skipped += [line] if never and stays else []
            elif word in {"elif", "else"} and open_blocks:
                had = open_blocks.pop()[1]
                open_blocks.append((not had, True))
                if had and all(block[0] for block in open_blocks[:-1]):
                    skipped.append(line)
            elif word == "endif" and open_blocks:
                open_blocks.pop()
            elif word == "define" and stays:
                macro = OBJECT_MACRO.fullmatch(directive[2])
                if macro and macro[2]:
                    macros[macro[1]] = " ".join(macro[2].replace("\\\n", " ").split())
            elif word == "include" and stays and (found := INCLUDE.match(rest)):
                includes.append(found[1])
        line += whole.count("\n")
    return "".join(kept), macros, tuple(skipped), tuple(includes)


def split_arguments(text: str) -> tuple[str, ...]:
    """Split at the commas that are in no bracket and in no string.

    >>> split_arguments('{1, 2}, "a, b"')
    ('{1, 2}', '"a, b"')
    """
    return read_arguments(f"{text})", 0, where="")[1]


def read_chain(text: str, start: int, *, where: str) -> tuple[Call, ...]:
    """Read the calls that begin at a position: NAME(…), then .NAME(…) as long as they follow."""
    calls: list[Call] = []
    position = counted = start
    line = text.count("\n", 0, start) + 1
    while match := CALL.match(text, position):
        if calls and not NEXT.match(text, position):
            break
        end, arguments = read_arguments(text, match.end(), where=where)
        line += text.count("\n", counted, match.start(1))
        calls.append(Call(name=match[1], arguments=arguments, line=line))
        position, counted = end, match.start(1)
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
    if number := HEXADECIMAL.fullmatch(text):
        return int(number[1], 16)
    if NUMBER.fullmatch(text):
        digits = text.rstrip("fFlLuU")
        if re.search(r"[.eE]", digits):
            return float(digits)
        if len(digits) > MOST_DIGITS:
            return None
        return int(digits, 8) if OCTAL.fullmatch(digits) else int(digits)
    if STRINGS.fullmatch(text):
        content = "".join(match[1] for match in STRING.finditer(text))
        return content.encode("latin-1", "backslashreplace").decode("unicode_escape")
    if text.startswith("{") and text.endswith("}"):
        _, parts = read_arguments(f"{text[1:-1]})", 0, where="")
        # A list in a list is none; it may be as deep as a text is long.
        values = [None if part.startswith("{") else read_literal(part) for part in parts]
        if all(isinstance(value, bool | int | float | str) for value in values):
            return tuple(value for value in values if isinstance(value, bool | int | float | str))
    return None


def quote(text: str) -> str:
    r"""Write a string literal of C++, of which `read_literal` is the inverse.

    >>> print(quote('a "b"\r\n'))
    "a \"b\"\015\n"
    """
    return f'"{text.translate(ESCAPES)}"'


def read_nested(text: str) -> tuple[tuple[int, ...], ...] | None:
    """Return the value of a brace list of brace lists of integers; None for anything else.

    >>> read_nested("{{1, 2}, {}}")
    ((1, 2), ())
    """
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    rows: list[tuple[int, ...]] = []
    for part in split_arguments(text[1:-1]):
        row = read_literal(part)
        if not isinstance(row, tuple):
            return None
        numbers = tuple(value for value in row if isinstance(value, int))
        if len(numbers) < len(row):
            return None
        rows.append(numbers)
    return tuple(rows)


def bare_name(call: Call, *, where: str) -> str:
    """Return the first argument, which must be an identifier."""
    if call.arguments and IDENTIFIER.fullmatch(call.arguments[0]):
        return call.arguments[0]
    raise PrototypeError(
        where=f"{where}:{call.line}",
        got=f"{call.name}({', '.join(call.arguments)})",
        fix="give a name as the first argument",
    )


def read_quoted_name(call: Call, *, where: str) -> str:
    """Return the first argument, which must be a string with an identifier."""
    value = read_literal(call.arguments[0]) if call.arguments else None
    if isinstance(value, str) and IDENTIFIER.fullmatch(value):
        return value
    raise PrototypeError(
        where=f"{where}:{call.line}",
        got=f"{call.name}({', '.join(call.arguments)})",
        fix="give a name in quotes as the first argument",
    )
