"""The headers of op-plugin that kernels include, in our words: narrow, for use out of the tree."""

from __future__ import annotations

__all__: list[str] = []
