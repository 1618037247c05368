"""Observations for rows: an operator run in other ways, and what can be seen of tensors."""

from __future__ import annotations

__all__: list[str] = []
