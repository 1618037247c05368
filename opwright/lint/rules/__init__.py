"""The rules, one function each by theme; a new one has a row in `table`."""

from __future__ import annotations

__all__: list[str] = []
