"""The local variables that a function reads: nothing but CPython's instructions says which."""

from __future__ import annotations

import dis
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

__all__ = ["find_read_names"]

READING = ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE")
# Newer releases read two variables, or write one and read another, with one instruction.
WRITE_THEN_READ = "STORE_FAST_LOAD_FAST"


def find_read_names(code: CodeType) -> Iterator[str]:
    """Yield the local variables that a function reads.

    >>> def scale(x, factor, unused):
    ...     result = x * factor
    ...     return result
    >>> sorted(find_read_names(scale.__code__))
    ['factor', 'result', 'x']
    """
    for item in dis.get_instructions(code):
        names = item.argval if isinstance(item.argval, tuple) else (item.argval,)
        if item.opname == WRITE_THEN_READ:
            yield names[1]
        elif item.opname.startswith(READING):
            yield from names
