"""`opwright lint`: faults in registrations, Metas, converters and YAML, read from the sources.

Files become facts (one reader per language), facts of one namespace become a library, and rules
look at libraries. Nothing is imported or run, and torch is not needed.
"""

from __future__ import annotations

__all__: list[str] = []
