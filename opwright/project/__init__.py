"""A project: a folder with a declaration, from which everything else is made.

config                 [tool.opwright] of pyproject.toml, and loading the declaration that it names
command                `opwright new` and `opwright add`
new, add               a folder from a template; an operator behind the others
template, sketch       the texts of both, from templates/ and from a schema
cases                  the samples of a declaration as cases for pytest
lazy_torch             torch, imported when it is used
errors                 what can be wrong with a project's folder
"""

from __future__ import annotations

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
