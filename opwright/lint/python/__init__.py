"""Python sources -> facts, by the ast module."""

from __future__ import annotations

__all__: list[str] = []
