"""The rules, one function each, and the table of all of them."""

from __future__ import annotations

__all__: list[str] = []
