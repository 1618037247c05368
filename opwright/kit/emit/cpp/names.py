"""Names in C++ for operators and local variables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.kit.declare.reserved import safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from opwright.kit.declare.schema import Schema
    from opwright.kit.derive.facts import SetFacts

__all__ = ["Locals", "pascal", "unique_names"]


def pascal(name: str) -> str:
    """Return a type's name.

    >>> pascal("cache_write_"), pascal("scale_add_out")
    ('CacheWrite_', 'ScaleAddOut')
    """
    words = "".join(part[:1].upper() + part[1:] for part in re.split(r"_+", name) if part)
    return f"{words}_" if name.endswith("_") else words


def unique_names(facts: SetFacts) -> Mapping[str, str]:
    """Return an identifier for each operator by its full name; an overload is part of it.

    No identifier is the name of an argument, which would hide the operator where it is called.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    arguments = {safe(a.name) for each in facts.operators for a in each.schema.arguments}
    for each in facts.operators:
        name = safe(each.name.replace(".", "_"))
        if name in arguments:
            name = f"{name}_operator"
        while name in taken or name in arguments:
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
