"""Scripts that show one failure alone."""

from __future__ import annotations
