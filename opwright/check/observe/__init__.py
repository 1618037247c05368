"""What rows look with: runs of an operator in other ways, and what can be seen of tensors."""

from __future__ import annotations

__all__: list[str] = []
