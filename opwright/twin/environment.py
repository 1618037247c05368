"""Settings -> environment variables: everything that a process needs before torch_npu is loaded.

Pure functions on mappings; who changes a real environment is `activation` (this process) and
`launch` (a child).
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from opwright.twin.settings import GRAPH_COMPILER, GUARD, KERNEL_CHECKS, MEMORY, ORDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from opwright.twin.settings import TwinSettings
    from opwright.twin.toolkit import Toolkit

__all__ = [
    "AUTOLOAD",
    "GUARDABLE",
    "GUARDED",
    "ORDERED",
    "PROCESS_PACKAGE",
    "SWITCH",
    "find_changed",
    "find_installed_packages",
    "twin_environment",
]

# Read by opwright.twin at import: 0 keeps it from arming.
SWITCH = "OPWRIGHT_TWIN"
# Read by torch at import: 0 keeps it from loading its back ends, torch_npu among them.
AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"

# The Python that the toolkit's commands run in.
PYTHON = "OPWRIGHT_PYTHON"

# Begins the names of folders with the kernels that one process has declared.
PROCESS_PACKAGE = "opwright-kernels-"

# Of a process whose memory can be guarded. Memory from malloc is filled only without the caches
# that glibc has for each thread. glibc reads it when a program starts: it has no effect on a fork.
GUARDABLE: dict[str, str] = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
# Of a process with guarded memory. The twin reads the first of them with the first memory.
GUARDED: dict[str, str] = {GUARD: "1", **GUARDABLE}

# Of a process whose streams are checked. torch_npu's own queue would launch each task on a thread
# that knows neither the lines of the program nor what the program has waited for.
ORDERED: dict[str, str] = {ORDER: "1", "TASK_QUEUE_ENABLE": "0"}


def twin_environment(
    base: Mapping[str, str],
    toolkit: Toolkit,
    settings: TwinSettings,
    packages: Iterable[Path] = (),
) -> dict[str, str]:
    """Return the base environment with the twin in it.

    Applying it twice gives the same as once. Variables of unset settings keep their value. The
    folder of a parent's own kernels is left out: they have no reference in another process, and one
    that it declares with other parameters would be called with its own.

    Parameters
    ----------
    packages
        Operator packages that were built from `settings.kernels`; each has
        op_api/lib/libcust_opapi.so.
    """
    result = dict(base)
    result.pop(SWITCH, None)
    result["ASCEND_HOME_PATH"] = result["ASCEND_TOOLKIT_HOME"] = str(toolkit.root)
    result["ASCEND_OPP_PATH"] = str(toolkit.operators)
    result["PATH"] = prepend(toolkit.commands, base.get("PATH", os.defpath))
    # Where CMake's find_package(ASC) looks.
    result["CMAKE_PREFIX_PATH"] = prepend([toolkit.root], base.get("CMAKE_PREFIX_PATH", ""))
    result[PYTHON] = sys.executable
    result["LD_LIBRARY_PATH"] = prepend([toolkit.libraries], base.get("LD_LIBRARY_PATH", ""))
    custom = prepend(packages, os.pathsep.join(find_installed_packages(base)))
    if custom or "ASCEND_CUSTOM_OPP_PATH" in base:
        result["ASCEND_CUSTOM_OPP_PATH"] = custom
    return result | choices(settings)


def find_installed_packages(environ: Mapping[str, str]) -> list[str]:
    """Return the operator packages in the path, without the folders of processes."""
    entries = environ.get("ASCEND_CUSTOM_OPP_PATH", "").split(os.pathsep)
    return [entry for entry in entries if entry and PROCESS_PACKAGE not in entry]


def choices(settings: TwinSettings) -> dict[str, str]:
    """Return the variables for the settings that are set."""
    values = {
        "OPWRIGHT_SOC": settings.soc,
        "OPWRIGHT_DEVICES": settings.devices,
        MEMORY: settings.memory,
        "OPWRIGHT_SYNC": None if settings.sync is None else int(settings.sync),
        # torch_npu's own queue would still part the Python call from the twin's.
        "TASK_QUEUE_ENABLE": 0 if settings.sync else None,
        # Absolute, because the process may change its folder before it writes the trace.
        "OPWRIGHT_TRACE": None if settings.trace is None else settings.trace.absolute(),
        "OPWRIGHT_KERNELS": os.pathsep.join(str(file.absolute()) for file in settings.kernels)
        or None,
        GRAPH_COMPILER: settings.graph_compiler,
        KERNEL_CHECKS: None if settings.kernel_checks is None else int(settings.kernel_checks),
    }
    guarded = GUARDED if settings.guard else {}
    ordered = ORDERED if settings.order else {}
    given = {name: str(value) for name, value in values.items() if value is not None}
    return given | guarded | ordered


def prepend(first: Iterable[Path], path: str) -> str:
    """Put folders in front of a search path; each folder occurs once, empty entries vanish."""
    entries = [*map(str, first), *path.split(os.pathsep)]
    return os.pathsep.join(dict.fromkeys(entry for entry in entries if entry))


def find_changed(base: Mapping[str, str], result: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the result sets to another value than the base."""
    return {name: value for name, value in result.items() if base.get(name) != value}
