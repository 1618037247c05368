"""Reports as text, JSON and SARIF."""

from __future__ import annotations

__all__: list[str] = []
