"""The memory of this process, in bytes; without torch_npu."""

from __future__ import annotations

from pathlib import Path


def begin_peak() -> None:
    """Let the peak begin anew."""
    Path("/proc/self/clear_refs").write_text("5")


def peak() -> int:
    """Return the most that was resident since the peak began."""
    return status("VmHWM")


def resident() -> int:
    """Return what is resident now."""
    return status("VmRSS")


def status(field: str) -> int:
    """Return a line of the process's status in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) << 10
    raise LookupError(field)
