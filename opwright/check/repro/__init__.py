"""Scripts that show one failure alone."""

from __future__ import annotations

__all__: list[str] = []
