"""One character for each status of a cell."""

from __future__ import annotations

from opwright.check.report.counts import ORDER

__all__ = ["BAD", "MARKS"]

MARKS = {
    "crashed": "!",
    "hung": "!",
    "out of memory": "!",
    "error": "E",
    "failed": "F",
    "known": "k",
    "blocked": "b",
    "passed": ".",
    "not applicable": "-",
}
# Outcomes that a reader wants to see.
BAD = ORDER[: ORDER.index("passed")]
