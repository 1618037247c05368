"""A project: a folder with a declaration, from which everything else is made.

config    [tool.opwright] of pyproject.toml, and loading the declaration that it names
errors    what can be wrong with a project's folder
"""

from __future__ import annotations

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
