"""Reports of a run for people: text in a terminal, a page in a browser."""

from __future__ import annotations

__all__: list[str] = []
