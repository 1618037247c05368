"""How Ascend C is compiled for this CPU: one place for flags, folders and libraries."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from opwright.kit.packaging.toolchain import cores, find_compiler

if TYPE_CHECKING:
    from opwright.twin.toolkit import Toolkit

__all__ = [
    "COMPILING",
    "DEFAULT_ARCHITECTURE",
    "MACHINE",
    "cores",
    "find_compiler",
    "interface_number",
    "list_include_options",
    "list_link_options",
]

# __NPU_ARCH__ in kernels unless a command line says otherwise: Ascend910B.
DEFAULT_ARCHITECTURE = 2201

# In the paths of operator packages, as the vendor has it: x86_64 or aarch64.
MACHINE = platform.machine()

COMPILING = (
    "-std=c++17",
    "-O2",
    # Faults name the line of the kernel: program counters are looked up in the line table.
    # Of DWARF 5, addr2line of binutils 2.40 confuses the files.
    "-g1",
    "-gdwarf-4",
    "-fno-omit-frame-pointer",
    # A call in the last place of a kernel would leave no frame.
    "-fno-optimize-sibling-calls",
    # float16 is converted in hardware, which AArch64 does without an option
    # (native/ascendc/CMakeLists.txt); a product and a sum are rounded apart, as on the device.
    *(["-march=x86-64-v3"] if MACHINE == "x86_64" else []),
    "-ffp-contract=off",
)


def list_include_options(toolkit: Toolkit, architecture: int = DEFAULT_ARCHITECTURE) -> list[str]:
    """Return the options for the words and headers that Ascend C has.

    The language's own words (`__global__`, `half`, launches) need no #include, as with the vendor's
    compiler.
    """
    root = toolkit.root / "include"
    return [
        f"-D__NPU_ARCH__={architecture}",
        *("-isystem", str(root / "ascendc" / "kernel")),
        *("-isystem", str(root / "ascendc" / "host")),
        *("-include", "ascendc_language.h"),
        # Behind all others: an extension may bring its own copies of CANN's headers.
        *("-idirafter", str(root)),
    ]


def interface_number(toolkit: Toolkit) -> str:
    """Return the number of the installed headers, as the runtime writes it.

    A library that was compiled with other headers is refused when it is loaded.
    """
    header = toolkit.root / "include" / "ascendc" / "interface.h"
    return header.read_text(encoding="utf-8").split()[-1]


def list_link_options(toolkit: Toolkit) -> list[str]:
    """Return the options for the runtime of kernels.

    The libraries are found at run time in the environment of `opwright run`, as CANN's are in that
    of its set_env.sh.
    """
    return [
        f"-L{toolkit.libraries}",
        "-lascendc_runtime",
        "-lascendcl",
        "-Wl,--allow-shlib-undefined",
    ]
