"""Schemas of others, read as torch reads them, with all that it accepts and a declaration may not.

`opwright.kit.declare.schema_text` reads what a declaration may say. Here stand `Tensor!` without a
letter, lists without a default after arguments with one, and alias sets of any kind as well,
because torch registers such operators.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ForeignArgument", "ForeignSchema", "SchemaProblem", "read_schema"]

HEAD = re.compile(r"\s*(?:(?P<namespace>\w+)::)?(?P<name>\w+)(?:\.(?P<overload>\w+))?\s*\(")
TYPE = re.compile(
    r"""\s*(?:(?P<dict>(?:Dict|Future|RRef|Await|Union|Tuple)\s*\([^()]*(?:\([^()]*\)[^()]*)*\))
    |(?P<tuple>\((?!\s*\))[^()]*\))
    |(?P<base>[A-Za-z_][\w.]*))""",
    re.VERBOSE,
)
ALIAS = re.compile(r"\s*\(\s*(?P<set>[\w*|\s]+?)\s*(?P<write>!)?\s*(?:->\s*[\w*|\s]+?)?\s*\)")
BARE_WRITE = re.compile(r"\s*!")
SUFFIX = re.compile(r"\s*(?:(?P<list>\[\s*\d*\s*\])|(?P<optional>\?))")
NAME = re.compile(r"\s*([A-Za-z_]\w*)")
WORDS = {
    *("Tensor", "Scalar", "ScalarType", "Layout", "Device", "MemoryFormat", "Generator"),
    *("SymInt", "SymFloat", "SymBool", "Dimname", "QScheme", "Stream", "Storage", "Quantizer"),
    *("Any", "AnyType", "AnyEnumType", "Capsule", "DeviceIndex", "DeviceObjType", "NoneType"),
    *("ConstQuantizerPtr", "None"),
}
OPENING, CLOSING = "([{", ")]}"
LISTS = {"int", "SymInt", "float", "bool"}


class SchemaProblem(Exception):  # noqa: N818 - no failure of this program: the text's own
    """Why a text is no schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignArgument:
    """An argument or result.

    Parameters
    ----------
    alias
        The alias set; "" for `Tensor!`, None without an annotation.
    """

    name: str | None
    base: str
    is_list: bool = False
    is_optional: bool = False
    default: str | None = None
    alias: str | None = None
    is_written: bool = False
    keyword_only: bool = False

    @property
    def is_tensor(self) -> bool:
        """Whether it holds tensors."""
        return self.base == "Tensor"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignSchema:
    """A schema."""

    namespace: str | None
    name: str
    overload: str
    arguments: tuple[ForeignArgument, ...]
    results: tuple[ForeignArgument, ...]

    @property
    def tensors(self) -> tuple[ForeignArgument, ...]:
        """Return the arguments that hold tensors."""
        return tuple(each for each in self.arguments if each.is_tensor)

    @property
    def written(self) -> tuple[ForeignArgument, ...]:
        """Return the arguments that are declared as written."""
        return tuple(each for each in self.arguments if each.is_written)

    def argument(self, name: str) -> ForeignArgument | None:
        """Return an argument by its name."""
        return next((each for each in self.arguments if each.name == name), None)


def read_schema(text: str) -> ForeignSchema:
    """Read a schema.

    Raises
    ------
    SchemaProblem
        If torch would refuse the text.

    Examples
    --------
    >>> schema = read_schema("ns::add_(Tensor! x, int[] k, *, Tensor? y=None) -> (Tensor x)")
    >>> [(each.name, each.is_written) for each in schema.tensors]
    [('x', True), ('y', False)]
    """
    head = HEAD.match(text)
    if head is None:
        message = "it does not begin with NAME("
        raise SchemaProblem(message)
    end = closing(text, head.end() - 1)
    if end is None:
        message = "the parenthesis of the arguments is not closed"
        raise SchemaProblem(message)
    arrow = text[end + 1 :].strip()
    if not arrow.startswith("->"):
        message = "there is no -> behind the arguments"
        raise SchemaProblem(message)
    return ForeignSchema(
        namespace=head["namespace"],
        name=head["name"],
        overload=head["overload"] or "",
        arguments=read_arguments(text[head.end() : end]),
        results=read_results(arrow[2:].strip()),
    )


def read_arguments(text: str) -> tuple[ForeignArgument, ...]:
    """Read what stands between the parentheses."""
    found: list[ForeignArgument] = []
    keyword_only = seen_default = False
    for part in parts(text):
        if part == "*":
            keyword_only = True
            continue
        if part == "...":
            continue
        if not part:
            message = "an argument is missing between two commas"
            raise SchemaProblem(message)
        each = read_part(part, keyword_only=keyword_only)
        if each.name is None:
            message = f"{part!r} has no name"
            raise SchemaProblem(message)
        if each.default is None and seen_default and not keyword_only and not each.is_list:
            message = f"{part!r} without a default stands after an argument with one"
            raise SchemaProblem(message)
        seen_default = seen_default or each.default is not None
        found.append(each)
    return tuple(found)


def read_results(text: str) -> tuple[ForeignArgument, ...]:
    """Read what stands behind the arrow."""
    if not text:
        message = "there is nothing behind ->"
        raise SchemaProblem(message)
    if text == "...":
        return ()
    if text.startswith("("):
        end = closing(text, 0)
        if end is None:
            message = "the parenthesis of the results is not closed"
            raise SchemaProblem(message)
        if text[end + 1 :].strip():
            message = f"{text[end + 1 :].strip()!r} stands behind the results"
            raise SchemaProblem(message)
        inner = text[1:end]
        return tuple(read_part(part) for part in parts(inner) if part != "...")
    return (read_part(text),)


def read_part(text: str, *, keyword_only: bool = False) -> ForeignArgument:
    """Read an argument or result: TYPE [NAME] [= DEFAULT]."""
    match = TYPE.match(text)
    if match is None:
        message = f"{text!r} is no argument"
        raise SchemaProblem(message)
    base = match["base"] or "container"
    if match["base"] and base not in WORDS and "." not in base and not base.islower():
        message = f"{base!r} is no type of a schema"
        raise SchemaProblem(message)
    at = match.end()
    alias, is_written = None, False
    if annotation := ALIAS.match(text, at):
        alias, is_written = annotation["set"].strip(), bool(annotation["write"])
        at = annotation.end()
    elif bare := BARE_WRITE.match(text, at):
        alias, is_written, at = "", True, bare.end()
    is_list = is_optional = False
    while suffix := SUFFIX.match(text, at):
        is_list = is_list or suffix["list"] is not None
        is_optional = suffix["optional"] is not None
        at = suffix.end()
        if after := ALIAS.match(text, at):
            at = after.end()
    name = NAME.match(text, at)
    at = name.end() if name else at
    rest = text[at:].strip()
    if rest and not rest.startswith("="):
        message = f"{rest!r} stands behind {text[:at].strip()!r}"
        raise SchemaProblem(message)
    default = rest[1:].strip() if rest else None
    if default == "":
        message = f"{text!r} has no value behind ="
        raise SchemaProblem(message)
    if default == "None" and is_list and not is_optional:
        message = f"{text!r}: a list has no default None; write {base}[]?"
        raise SchemaProblem(message)
    return ForeignArgument(
        name=name[1] if name else None,
        base=base,
        is_list=is_list,
        is_optional=is_optional,
        default=default,
        alias=alias,
        is_written=is_written,
        keyword_only=keyword_only,
    )


def brackets(text: str, start: int = 0) -> Iterator[tuple[int, str, int]]:
    """Yield what is in no string: its place, the sign, and how many brackets are open behind it."""
    depth, quote = 0, ""
    for at in range(start, len(text)):
        sign = text[at]
        if quote:
            quote = "" if sign == quote and text[at - 1] != "\\" else quote
        elif sign in "'\"":
            quote = sign
        else:
            depth += (sign in OPENING) - (sign in CLOSING)
            yield at, sign, depth


def closing(text: str, start: int) -> int | None:
    """Return where the bracket at start is closed."""
    closed = (at for at, sign, depth in brackets(text, start) if sign in CLOSING and depth == 0)
    return next(closed, None)


def parts(text: str) -> list[str]:
    """Split at the commas that are in no bracket and in no string."""
    commas = [at for at, sign, depth in brackets(text) if sign == "," and depth == 0]
    ends = [-1, *commas, len(text)]
    found = [text[first + 1 : last].strip() for first, last in pairwise(ends)]
    return [] if found == [""] else found
