"""Names in C++ for operators and local variables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from opwright.declare.schema import Schema
    from opwright.derive.facts import SetFacts

__all__ = ["Locals", "pascal", "safe", "unique_names"]

# Words of C++ that a Python identifier may be.
CPP_WORDS = frozenset(
    [
        "alignas",
        "alignof",
        "asm",
        "auto",
        "bool",
        "case",
        "catch",
        "char",
        "concept",
        "const",
        "consteval",
        "constexpr",
        "constinit",
        "decltype",
        "default",
        "delete",
        "do",
        "double",
        "enum",
        "explicit",
        "export",
        "extern",
        "false",
        "float",
        "friend",
        "goto",
        "inline",
        "int",
        "long",
        "mutable",
        "namespace",
        "new",
        "noexcept",
        "nullptr",
        "operator",
        "private",
        "protected",
        "public",
        "register",
        "requires",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "template",
        "this",
        "throw",
        "true",
        "typedef",
        "typeid",
        "typename",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
        "xor",
        "or",
        "and",
        "not",
        "bitand",
        "bitor",
        "compl",
    ]
)


def safe(name: str) -> str:
    """Return an identifier that is no word of C++.

    >>> safe("scale"), safe("double")
    ('scale', 'double_')
    """
    return f"{name}_" if name in CPP_WORDS else name


def pascal(name: str) -> str:
    """Return a type's name.

    >>> pascal("cache_write_"), pascal("scale_add_out")
    ('CacheWrite_', 'ScaleAddOut')
    """
    words = "".join(part[:1].upper() + part[1:] for part in re.split(r"_+", name) if part)
    return f"{words}_" if name.endswith("_") else words


def unique_names(facts: SetFacts) -> Mapping[str, str]:
    """Return an identifier for each operator by its full name; an overload is part of it."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for each in facts.operators:
        name = safe(each.name.replace(".", "_"))
        while name in taken:
            name = f"{name}_"
        taken.add(name)
        names[each.name] = name
    return names


class Locals:
    """Names of local variables that differ from the arguments and from each other."""

    def __init__(self, schema: Schema, more: Iterable[str] = ()) -> None:
        self.taken = {safe(argument.name) for argument in schema.arguments} | set(more)

    def fresh(self, name: str) -> str:
        """Return this name, with underscores behind it where it is taken."""
        while name in self.taken:
            name = f"{name}_"
        self.taken.add(name)
        return name
