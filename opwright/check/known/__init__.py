"""Knowledge from before a run: failures with reasons, and the schemas of the last release."""

from __future__ import annotations

__all__: list[str] = []
