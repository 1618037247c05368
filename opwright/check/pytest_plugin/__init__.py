"""`pytest --opwright-check`: the matrix as items of a test suite."""

from __future__ import annotations

__all__: list[str] = []
