"""A user's choices about the twin, and the rules for each value.

The native side (native/runtime/settings.cpp) reads the same values from the environment and checks
them again, because a C++ program has no Python before it. Here they are checked before a process is
started.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from opwright.command_line.files import explain_unwritable
from opwright.errors import OpwrightError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = [
    "GRAPH_COMPILER",
    "GRAPH_COMPILERS",
    "GUARD",
    "MEMORY",
    "MOST_DEVICES",
    "ORDER",
    "SOC_NAMES",
    "DeviceCountError",
    "GraphCompilerNameError",
    "MemorySizeError",
    "SocNameError",
    "TraceFileError",
    "TwinSettings",
    "check_devices",
    "check_graph_compiler",
    "check_soc",
    "check_trace",
    "parse_memory",
]

# The names that torch_npu accepts from aclrtGetSocName, and every name that starts with
# OPEN_FAMILY.
SOC_NAMES = (
    *("Ascend910PremiumA", "Ascend910ProA", "Ascend910A", "Ascend910ProB", "Ascend910B"),
    *("Ascend310P1", "Ascend310P2", "Ascend310P3", "Ascend310P4", "Ascend310P5", "Ascend310P7"),
    *("Ascend910B1", "Ascend910B2", "Ascend910B2C", "Ascend910B3", "Ascend910B4", "Ascend910B4-1"),
    *("Ascend310B1", "Ascend310B2", "Ascend310B3", "Ascend310B4"),
    *("Ascend910_9391", "Ascend910_9392", "Ascend910_9381", "Ascend910_9382"),
    *("Ascend910_9372", "Ascend910_9362", "Ascend910_9363"),
    "Ascend950",
)
OPEN_FAMILY = "Ascend950"

MOST_DEVICES = 16  # one node of the largest Ascend server

LEAST_MEMORY = 2 << 20  # bytes; one block of torch_npu's caching allocator
MOST_MEMORY = 1 << 40  # bytes of address space per device
UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}

# Read by libascendcl when it is loaded: bytes of each device, with a suffix.
MEMORY = "OPWRIGHT_MEMORY"

# Read by the graph engine (opwright.graph_engine) whenever a graph is compiled.
GRAPH_COMPILER = "OPWRIGHT_GRAPH_COMPILER"
GRAPH_COMPILERS = ("eager", "inductor")

# Read by libascendcl when it is loaded (native/runtime/memory/guard): 0, 1 or 2.
GUARD = "OPWRIGHT_GUARD"

# Read by libascendcl with the first task (native/runtime/order): 0 or 1.
ORDER = "OPWRIGHT_ORDER"

# Read by libascendc_runtime at each launch of a kernel in Ascend C.
KERNEL_CHECKS = "OPWRIGHT_KERNEL_CHECKS"


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinSettings:
    """Choices for a process on the twin; None leaves the environment's value, or else the default.

    Parameters
    ----------
    soc
        Chip that the twin reports (default Ascend910B4).
    devices
        Number of devices (default 2).
    memory
        Bytes per device (default: what the chip has, at most three quarters of this machine's
        memory).
    sync
        Run each task at its call, for debuggers and exact tracebacks.
    trace
        File for the calls in the Chrome trace format.
    kernels
        Python and C++ files with reference functions for custom operators.
    graph_compiler
        How graphs of TorchAir's max-autotune mode are run: "eager" (the default) calls ATen's
        operators, "inductor" compiles C++ code, which takes longer to compile and runs faster.
    guard
        Guard memory: find what kernels read and write outside of their operands, and what they
        read that nobody has written (docs/twin.md). For a process that is started with it.
    order
        Find what streams do with the same memory although nothing orders it (docs/order.md).
    kernel_checks
        Follow each instruction of kernels in Ascend C: bounds, alignment, queues, races between
        pipes and blocks (docs/ascend_c.md).
    """

    soc: str | None = None
    devices: int | None = None
    memory: int | None = None
    sync: bool | None = None
    trace: Path | None = None
    kernels: tuple[Path, ...] = ()
    graph_compiler: str | None = None
    guard: bool | None = None
    order: bool | None = None
    kernel_checks: bool | None = None

    def with_default_memory(self, size: int, environment: Mapping[str, str]) -> TwinSettings:
        """Return settings with so many bytes per device, unless the user chose a number.

        Parameters
        ----------
        environment
            Of this process, where the user may have chosen one too.
        """
        if self.memory is not None or environment.get(MEMORY):
            return self
        return replace(self, memory=size)


class SocNameError(OpwrightError):
    """A chip name that torch_npu would reject."""

    id = "OPW-T001"
    title = "unknown SoC name"
    usual_fix = "use one of the allowed names; every name that starts with Ascend950 is allowed too"


class DeviceCountError(OpwrightError):
    """A number of devices outside the range."""

    id = "OPW-T002"
    title = "number of devices out of range"
    usual_fix = "give a whole number in the allowed range"


class MemorySizeError(OpwrightError):
    """A memory size that cannot be read, or outside the range."""

    id = "OPW-T003"
    title = "not a size of device memory"
    usual_fix = "give a number of bytes with an optional suffix, for example 8G"


class TraceFileError(OpwrightError):
    """A trace file that cannot be created."""

    id = "OPW-T004"
    title = "the trace cannot be written there"
    usual_fix = "name a file in an existing folder that you may write to"


class GraphCompilerNameError(OpwrightError):
    """A compiler of graphs that there is not."""

    id = "OPW-T005"
    title = "unknown compiler of graphs"
    usual_fix = "use one of the allowed names"


def check_soc(name: str, *, where: str) -> str:
    """Return the name if torch_npu accepts it, else raise SocNameError (OPW-T001)."""
    if name in SOC_NAMES or name.startswith(OPEN_FAMILY):
        return name
    raise SocNameError(where=where, got=repr(name), allowed=SOC_NAMES, near=name)


def check_devices(number: int, *, where: str) -> int:
    """Return the number if the twin offers so many, else raise DeviceCountError (OPW-T002)."""
    if 1 <= number <= MOST_DEVICES:
        return number
    raise DeviceCountError(where=where, got=str(number), allowed=(f"1 to {MOST_DEVICES}",))


def check_graph_compiler(name: str, *, where: str) -> str:
    """Return the name if it is one, else raise GraphCompilerNameError (OPW-T005)."""
    if name in GRAPH_COMPILERS:
        return name
    raise GraphCompilerNameError(where=where, got=repr(name), allowed=GRAPH_COMPILERS)


def check_trace(file: Path, *, where: str) -> Path:
    """Return the file if it can be created, else raise TraceFileError (OPW-T004)."""
    if why := explain_unwritable(file):
        raise TraceFileError(where=where, got=why)
    return file


def parse_memory(text: str, *, where: str) -> int:
    """Read a size such as 512M or 8GiB into bytes, else raise MemorySizeError (OPW-T003).

    >>> parse_memory("1.5G", where="--memory")
    1610612736
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    size = int(float(match[1]) * (1 << UNITS[match[2].upper()])) if match else 0
    if LEAST_MEMORY <= size <= MOST_MEMORY:
        return size
    allowed = ("2M to 1T bytes", "suffixes K, M, G, T (powers of 1024)")
    raise MemorySizeError(where=where, got=repr(text), allowed=allowed)
