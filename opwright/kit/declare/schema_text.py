"""The text of a schema, in PyTorch's grammar -> data.

torchgen reads each type, argument and return. What it asks of a whole schema beyond the grammar
(a mutated argument is called self, mutated arguments are not returned, ...) are rules for ATen's
own operators, to which custom operators are not bound; so the whole is put together here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torchgen.model import Argument as TorchgenArgument
from torchgen.model import BaseType, ListType, OptionalType
from torchgen.model import Return as TorchgenReturn
from torchgen.model import Type as TorchgenType

from opwright.errors import clip
from opwright.kit.declare.errors import SchemaError
from opwright.kit.declare.schema import Alias, Argument, Base, Result, Schema, ValueType

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["parse_schema", "split"]

BASES = {base.value: base for base in Base}

ALIAS = re.compile(r"^(?P<base>\w+)\((?P<name>\w+)(?P<rest>[^)]*)\)")
# In PyTorch's grammar, but unknown to torchgen; each is read as an int in its place.
UNKNOWN_TO_TORCHGEN = re.compile(r"\A(?:Dimname|complex|SymFloat)\b")
PARTS = re.compile(
    r"(?P<name>[A-Za-z_]\w*)(?:\.(?P<overload>\w+))?\((?P<arguments>.*)\)\s*->\s*(?P<results>.+)",
    re.DOTALL,
)
NAMESPACE = re.compile(r"\s*(\w+)::")
BARE_WRITE = re.compile(r"\bTensor\s*!")


def parse_schema(text: str, *, where: str) -> Schema:
    """Read a schema.

    Parameters
    ----------
    text
        PyTorch's grammar, without a namespace.
    where
        The place of the text, for error messages.

    Raises
    ------
    SchemaError
        OPW-D001.

    Examples
    --------
    >>> schema = parse_schema("add_(Tensor(a!) x, Tensor y) -> Tensor(a!)", where="example")
    >>> schema.mutated[0].name, str(schema)
    ('x', 'add_(Tensor(a!) x, Tensor y) -> Tensor(a!)')
    """
    plain = " ".join(text.split())
    where = f"{where}, schema {clip(plain, 80)}"
    if namespace := NAMESPACE.match(plain):
        raise SchemaError(
            where=where,
            got=f"the namespace {namespace[1]!r}",
            fix="leave it out: the operator set has it",
        )
    if BARE_WRITE.search(plain):
        raise SchemaError(
            where=where,
            got="'Tensor!'",
            fix="name the alias set of what is written: Tensor(a!), the next one Tensor(b!)",
        )
    match = PARTS.fullmatch(plain)
    if match is None:
        raise SchemaError(where=where, got=repr(clip(plain, 80)))
    arguments = tuple(read_arguments(match["arguments"], where=where))
    results = tuple(read_results(match["results"], where=where))
    schema = Schema(
        name=match["name"],
        overload=match["overload"] or "",
        arguments=arguments,
        results=results,
    )
    check_names(schema, where=where)
    check_defaults(schema, where=where)
    check_aliases(schema, where=where)
    return schema


def read_arguments(text: str, *, where: str) -> Iterator[Argument]:
    """Read what stands between the parentheses."""
    keyword_only = False
    for part in split(text):
        if part == "*":
            if keyword_only:
                raise SchemaError(where=where, got="two '*'", fix="write '*' once")
            keyword_only = True
            continue
        declared, default = without_default(part)
        try:
            given = TorchgenArgument.parse(for_torchgen(declared))
        except (AssertionError, RuntimeError, ValueError) as error:
            raise unreadable(part, where=where) from error
        yield Argument(
            name=given.name,
            type=read_type(given.type, part, where=where),
            default=default,
            alias=read_alias(part, where=where),
            keyword_only=keyword_only,
        )


def without_default(part: str) -> tuple[str, str | None]:
    """Split an argument at the first =, which is that of its default.

    >>> without_default('str sep = "="')
    ('str sep', '"="')
    """
    declared, sign, default = part.partition("=")
    return declared.strip(), default.strip() if sign else None


def for_torchgen(declared: str) -> str:
    """Write a type and name as torchgen reads them.

    Types that it does not know become int, to be distinguished by the text; alias annotations are
    read here, as it refuses `Tensor(a!)[2]`.
    """
    return UNKNOWN_TO_TORCHGEN.sub("int", ALIAS.sub(r"\1", declared), count=1)


def read_results(text: str, *, where: str) -> Iterator[Result]:
    """Read what stands behind the arrow."""
    plain = text.strip()
    if plain.startswith("(") and plain.endswith(")"):
        plain = plain[1:-1]
    for part in split(plain):
        try:
            given = TorchgenReturn.parse(for_torchgen(part))
        except (AssertionError, RuntimeError, ValueError) as error:
            raise unreadable(part, where=where) from error
        value_type = read_type(given.type, part, where=where)
        yield Result(type=value_type, name=given.name, alias=read_alias(part, where=where))


# A string, a bracket, a comma, or a run of anything else.
PIECE = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[(\[]|[)\]]|,|[^'"()\[\],]+|['"]""")


def split(text: str) -> list[str]:
    """Split at the commas that are in no bracket and in no string.

    >>> split("int[2] pad=[0, 0], str s='a, b', int n")
    ['int[2] pad=[0, 0]', "str s='a, b'", 'int n']
    """
    parts, depth = [""], 0
    for piece in PIECE.findall(text):
        depth += (piece in {"(", "["}) - (piece in {")", "]"})
        if piece == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    stripped = [part.strip() for part in parts]
    return [] if stripped == [""] else stripped


def unreadable(part: str, *, where: str) -> SchemaError:
    """Return the error for an argument or result that torchgen refuses."""
    word = re.match(r"\w*", part)
    name = word[0] if word else ""
    if name not in BASES:
        return SchemaError(
            where=f"{where}, {part!r}",
            got=f"type {name!r}",
            allowed=BASES,
            near=name,
            fix="use a type of PyTorch's schemas",
        )
    return SchemaError(
        where=where,
        got=repr(part),
        fix="write TYPE NAME or TYPE NAME=DEFAULT, for example Tensor? bias=None",
    )


def read_type(given: TorchgenType, part: str, *, where: str) -> ValueType:
    """Flatten torchgen's type: optional of list of optional of a base."""
    optional = isinstance(given, OptionalType)
    inner = given.elem if isinstance(given, OptionalType) else given
    is_list = isinstance(inner, ListType)
    length = inner.size if isinstance(inner, ListType) else None
    inner = inner.elem if isinstance(inner, ListType) else inner
    optional_elements = isinstance(inner, OptionalType)
    inner = inner.elem if isinstance(inner, OptionalType) else inner
    unknown = UNKNOWN_TO_TORCHGEN.match(part)
    base = BASES.get(unknown[0] if unknown else str(inner))
    if not isinstance(inner, BaseType) or base is None:
        raise SchemaError(
            where=f"{where}, {part!r}",
            got=f"type {given}",
            allowed=sorted(BASES),
            fix="use a base type, a list of one, or an optional of either",
        )
    return ValueType(
        base=base,
        is_list=is_list,
        length=length,
        optional=optional,
        optional_elements=optional_elements,
    )


def read_alias(part: str, *, where: str) -> Alias | None:
    """Read the alias annotation of an argument or result."""
    match = ALIAS.match(part)
    if match is None:
        return None
    if match["rest"] not in {"", "!"}:
        raise SchemaError(
            where=f"{where}, {part!r}",
            got=f"alias annotation ({match['name']}{match['rest']})",
            allowed=("(a)", "(a!)"),
            fix="a custom operator's value is in one alias set; wildcards are ATen's own",
        )
    return Alias(name=match["name"], is_write=match["rest"] == "!")


def check_names(schema: Schema, *, where: str) -> None:
    """Raise if two arguments, or two results, have one name."""
    for kind, names in (
        ("arguments", [argument.name for argument in schema.arguments]),
        ("results", [result.name for result in schema.results if result.name is not None]),
    ):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise SchemaError(
                where=where,
                got=f"two {kind} named {', '.join(map(repr, twice))}",
                fix="give each its own name",
            )


def check_defaults(schema: Schema, *, where: str) -> None:
    """Raise if a positional argument without a default comes after one that has a default."""
    before: Argument | None = None
    for argument in schema.arguments:
        if argument.keyword_only:
            return
        if argument.default is None and before is not None:
            raise SchemaError(
                where=where,
                got=f"{str(argument)!r} without a default after {str(before)!r}",
                fix="put arguments without defaults first, or behind '*'",
            )
        before = argument if argument.default is not None else before


def check_aliases(schema: Schema, *, where: str) -> None:
    """Raise if an alias set has two arguments, or a result aliases nothing."""
    names = [argument.alias.name for argument in schema.arguments if argument.alias]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SchemaError(
            where=where,
            got=f"alias set {twice[0]!r} on several arguments",
            fix="give each argument an alias set of its own: (a!), (b!), ...",
        )
    for result in schema.results:
        if result.alias is not None and result.alias.name not in names:
            raise SchemaError(
                where=where,
                got=f"result {str(result)!r} in an alias set that no argument has",
                allowed=sorted(names),
                fix="annotate the argument that the result aliases, or leave the annotation out",
            )
