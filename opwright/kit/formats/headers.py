"""Headers with REG_OP, read as a compiler would, with their includes; every mistake is reported."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from opwright.aclnn.dtypes import DTYPE_NUMBERS
from opwright.aclnn.reg_op import START, prototype
from opwright.aclnn.scan import (
    Call,
    blank_comments,
    find_quoted_includes,
    find_skipped_branches,
    plain_code,
    read_chain,
)
from opwright.errors import clip
from opwright.kit.formats.errors import HeaderError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from opwright.aclnn.prototype import Attribute, Default, Prototype

__all__ = ["Found", "Headers", "read_headers"]

# How many arguments the macros of operator_reg.h take; ATTR also takes a default with commas.
EXACT = {
    **dict.fromkeys(("INPUT", "OPTIONAL_INPUT", "DYNAMIC_INPUT"), 2),
    **dict.fromkeys(("OUTPUT", "OPTIONAL_OUTPUT", "DYNAMIC_OUTPUT"), 2),
    **dict.fromkeys(("REQUIRED_ATTR", "DATATYPE"), 2),
    **dict.fromkeys(("GRAPH", "DYNAMIC_GRAPH", "REG_OP", "OP_END_FACTORY_REG"), 1),
}
# Kinds of names that must not be given twice.
NAMESPACES = {
    **dict.fromkeys(("INPUT", "OPTIONAL_INPUT", "DYNAMIC_INPUT"), "input"),
    **dict.fromkeys(("OUTPUT", "OPTIONAL_OUTPUT", "DYNAMIC_OUTPUT"), "output"),
    **dict.fromkeys(("ATTR", "REQUIRED_ATTR"), "attribute"),
    **dict.fromkeys(("GRAPH", "DYNAMIC_GRAPH"), "subgraph"),
    "DATATYPE": "dtype symbol",
}
# Examples of defaults by the type of an attribute; other types have none that is read.
EXAMPLES = {
    "Int": "-1",
    "Float": "1e-5f",
    "Bool": "true",
    "String": '"text"',
    "AscendString": '"text"',
    "Type": "DT_FLOAT",
    "ListInt": "{1, 2}",
    "ListFloat": "{0.5f, 1.0f}",
    "ListBool": "{true, false}",
    "ListString": '{"a", "b"}',
    "ListAscendString": '{"a", "b"}',
    "ListType": "{DT_FLOAT, DT_INT8}",
    "ListListInt": "{{1, 2}, {3}}",
}
# C++'s value of a default that is not written: T().
ZEROS: Mapping[str, Default] = {
    "Int": 0,
    "Float": 0.0,
    "Bool": False,
    "String": "",
    "AscendString": "",
    "Type": "DT_FLOAT",
}
# The mark of headers with prototypes; operator_reg.h and others, which are included, lack it.
BEGIN = re.compile(r"^[ \t]*REG_OP[ \t]*\(", re.MULTILINE)
MOST_SHOWN = 80  # characters of a default in a message
INT64 = range(-(2**63), 2**63)
# A macro that a header defines around REG_OP; operator_reg.h defines REG_OP itself.
WRAPPER = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<name>(?!REG_OP\()\w+)\((?:[^\n]*\\\n)*[^\n]*\bREG_OP\b",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A prototype, and where its header has it."""

    prototype: Prototype
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Headers:
    """The declarations of headers.

    Parameters
    ----------
    notes
        What was not read: branches of conditional blocks.
    """

    found: tuple[Found, ...]
    notes: tuple[str, ...]


def read_headers(paths: Sequence[Path]) -> Headers:
    """Read headers and the files that they include with quotes, where these are there.

    An operator that several headers declare alike is one.

    Raises
    ------
    PrototypeError
        OPW-K002: a prototype that cannot be read.
    HeaderError
        OPW-S008: no prototype, or one that contradicts itself or another.
    """
    read: dict[Path, None] = {}
    found: dict[str, Found] = {}
    notes: list[str] = []
    for path in paths:
        for file in with_includes(path, read):
            text = text_of(file)
            if BEGIN.search(text):
                lines = find_skipped_branches(text)
                notes += [f"{file}:{line}, branch of #if not read" for line in lines]
            for each in declarations(text, where=str(file)):
                add(found, each)
    if not found:
        raise HeaderError(
            where=", ".join(map(str, paths)),
            got="no REG_OP",
            allowed=("REG_OP(Name) ... .OP_END_FACTORY_REG(Name)",),
            fix="give the header with the prototypes: build_out/autogen/op_proto.h of the project",
        )
    return Headers(found=tuple(found.values()), notes=tuple(notes))


def with_includes(path: Path, read: dict[Path, None]) -> Iterator[Path]:
    """Yield the files that a header includes, then the header; each once."""
    # The work to do, the next one last: a file to open, or one whose includes are done.
    pending = [(path, False)]
    while pending:
        file, is_done = pending.pop()
        if is_done:
            yield file
        elif file.resolve() not in read:
            read[file.resolve()] = None
            found = [file.parent / name for name in find_quoted_includes(text_of(file))]
            pending += [(file, True), *((each, False) for each in reversed(found) if is_file(each))]


def is_file(path: Path) -> bool:
    """Return whether a path that a header names is a file here; it may be no path at all."""
    try:
        return path.is_file()
    except OSError:  # a name that is too long
        return False


def text_of(path: Path) -> str:
    """Return the text of a file."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (UnicodeDecodeError, OSError) as error:
        raise HeaderError(
            where=str(path), got=str(error), fix="give a header that can be read, as UTF-8"
        ) from error


def add(found: dict[str, Found], new: Found) -> None:
    """Add a prototype; one that another header declares alike is there already."""
    op_type = new.prototype.op_type
    known = found.setdefault(op_type, new)
    same_file = known.where.rpartition(":")[0] == new.where.rpartition(":")[0]
    if known is not new and (same_file or known.prototype != new.prototype):
        what = "again" if known.prototype == new.prototype else "again, and otherwise"
        raise HeaderError(
            where=f"{new.where}, operator {op_type}",
            got=f"a prototype {what}: the first is at {known.where}",
            fix="keep one of them",
        )


def declarations(text: str, *, where: str) -> Iterator[Found]:
    """Yield the prototypes of a text, in which nothing may be wrong."""
    plain = plain_code(text)
    check_macros(text, plain, where=where)
    for match in START.finditer(plain):
        chain = read_chain(plain, match.start(), where=where)
        made = prototype(chain, where=where)
        place = f"{where}:{chain[0].line}"
        check_calls(chain, made.op_type, where=where)
        calls = {
            call.arguments[0]: call for call in chain if NAMESPACES.get(call.name) == "attribute"
        }
        attributes = tuple(
            check_attribute(each, calls[each.name], made.op_type, where=where)
            for each in made.attributes
        )
        yield Found(prototype=replace(made, attributes=attributes), where=place)


def check_macros(text: str, plain: str, *, where: str) -> None:
    """Refuse calls of macros around REG_OP, which are not expanded."""
    for match in WRAPPER.finditer(blank_comments(text)):
        used = re.search(rf"\b{match['name']}\s*\(", plain)
        if used:
            line = plain.count("\n", 0, used.start()) + 1
            raise HeaderError(
                where=f"{where}:{line}",
                got=f"{match['name']}(...), a macro with parameters, which is not expanded",
                fix="write REG_OP out in the header",
            )


def check_calls(chain: Sequence[Call], op_type: str, *, where: str) -> None:
    """Check how many arguments macros have, and that no name comes twice."""
    seen: dict[tuple[str, str], int] = {}
    for call in chain:
        place = f"{where}:{call.line}, operator {op_type}"
        exact = EXACT.get(call.name)
        if exact is not None and len(call.arguments) != exact:
            raise HeaderError(
                where=place,
                got=f"{call.name}({', '.join(call.arguments)})",
                allowed=(f"{exact} argument{'s' if exact > 1 else ''}",),
                fix="write the macro as operator_reg.h has it",
            )
        kind = NAMESPACES.get(call.name)
        if kind is None:
            continue
        name = call.arguments[0]
        if (kind, name) in seen:
            raise HeaderError(
                where=place,
                got=f"{kind} {name} again: the first is at line {seen[kind, name]}",
                fix=f"give each {kind} a name of its own",
            )
        seen[kind, name] = call.line


def check_attribute(attribute: Attribute, call: Call, op_type: str, *, where: str) -> Attribute:
    """Return an attribute with its default, which must be a constant of its type."""
    kind = attribute.type_name
    if attribute.required or kind not in EXAMPLES:
        return attribute
    written = ", ".join(call.arguments[2:])
    if not written:
        return replace(attribute, default=ZEROS.get(kind, ()))
    if not is_fitting(attribute.default, kind):
        raise HeaderError(
            where=f"{where}:{call.line}, operator {op_type}, attribute {attribute.name}",
            got=f"default {clip(written, MOST_SHOWN)} of type {kind}",
            allowed=(EXAMPLES[kind],),
            fix=f"write a constant of type {kind}",
        )
    return attribute


def is_fitting(value: object, kind: str) -> bool:
    """Return whether a value is one of an attribute type."""
    if kind == "ListListInt":
        return isinstance(value, tuple) and all(is_fitting(each, "ListInt") for each in value)
    if kind.startswith("List"):
        return isinstance(value, tuple) and all(
            is_fitting(v, kind.removeprefix("List")) for v in value
        )
    match kind:
        case "Int":
            return isinstance(value, int) and not isinstance(value, bool) and value in INT64
        case "Float":
            return isinstance(value, float)
        case "Bool":
            return isinstance(value, bool)
        case "Type":
            return isinstance(value, str) and value.removeprefix("DT_") in DTYPE_NUMBERS
    return isinstance(value, str)
