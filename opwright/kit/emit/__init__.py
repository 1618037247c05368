"""Emitters: facts and options -> {path: text}. Pure and deterministic; nothing is written here.

cpp       the C++ sources
python    the Python package around them: API, stubs, converters, tests, project files
all       both, as one tree; options: what they depend on besides the declaration
header    the first lines of each file
edits     replacements in a text that is taken over
"""

from __future__ import annotations

from opwright.kit.emit.options import EmitOptions

__all__ = ["EmitOptions"]


def __dir__() -> list[str]:
    return __all__
