"""The operators of this folder: those that are broken with what must find them, and sound ones."""

from __future__ import annotations

__all__ = ["BROKEN", "SOUND"]

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
