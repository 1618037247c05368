"""C++ that does not depend on the declaration, in sections that emitters put together.

A section begins with `//@ name`; `NAMESPACE` stands for the set's namespace.
"""

from __future__ import annotations

import functools
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["read_file", "sections"]

MARK = "//@ "


@functools.cache
def read_file(name: str) -> str:
    """Return a file's text."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


@functools.cache
def sections(name: str) -> Mapping[str, str]:
    """Return a file's sections by what stands behind the mark, each without blank lines at its end.

    >>> list(sections("autograd.cpp"))[1]
    'optional'
    """
    parts = f"\n{read_file(name)}".split(f"\n{MARK}")[1:]
    split = (part.partition("\n") for part in parts)
    return {head: text.rstrip("\n") for head, _, text in split}
