"""From emitted text to what is shipped: the outer ring, with files and processes.

writer        a mapping of paths to texts -> files of a folder
gen_command   `opwright gen`
"""

from __future__ import annotations

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
