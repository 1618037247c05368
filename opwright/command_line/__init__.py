"""Parts that verbs share: their table, JSON for programs, files they write, progress.

Nothing here imports torch, so that every layer's verbs can use it.
"""

from __future__ import annotations

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
