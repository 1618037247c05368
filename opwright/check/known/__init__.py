"""What is known before a run: failures with their reasons, and the schemas of the last release."""

from __future__ import annotations

__all__: list[str] = []
