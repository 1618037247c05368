"""The operators of this folder: those that are broken with what must find them, and sound ones."""

from __future__ import annotations

__all__ = ["BROKEN", "SOUND", "rows_for"]

BROKEN = {
    "reads_past": "bounds/out-of-bounds-read",
    "reads_before": "bounds/out-of-bounds-read",
    "reads_far": "bounds/out-of-bounds-read",
    "writes_past": "bounds/out-of-bounds-write",
    "writes_before": "bounds/out-of-bounds-write",
    "whole_blocks": "bounds/out-of-bounds-write",
    "unchecked_rows": "bounds/out-of-bounds-read",
    "ignores_strides": "bounds/out-of-bounds-read",
    "skips_last": "bounds/unwritten-result",
    "adds_to_workspace": "bounds/uninitialised-read",
    "keeps_pointer": "bounds/stale-pointer",
    "leaks_buffer": "leaks/host-memory",
    "one_buffer": "concurrency/different-results",
}
SOUND = (
    "reads_to_the_end",
    "last_block_short",
    "checked_rows",
    "follows_strides",
    "fills_workspace",
    "own_memory",
    "shared_ends",
)

# Beside what rows leaks and concurrency must find; both call an operator often, which takes time.
OWN = ("own_memory", "fills_workspace", "shared_ends")


def rows_for(name: str) -> tuple[str, ...]:
    """Return the row that must find a fault, or those that a sound operator passes."""
    if name in BROKEN:
        return (BROKEN[name].partition("/")[0],)
    return ("bounds", "leaks", "concurrency") if name in OWN else ("bounds",)
