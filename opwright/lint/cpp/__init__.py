"""C++ sources -> facts, by tree-sitter."""

from __future__ import annotations

__all__: list[str] = []
