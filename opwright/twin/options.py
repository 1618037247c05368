"""Options of the command line that say what the twin is like, for the verbs that run on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opwright.twin.settings import TwinSettings, check_devices, check_soc, parse_memory

__all__ = ["Devices", "Kernels", "Memory", "Soc", "read_settings"]

Soc = Annotated[
    str | None, typer.Option(metavar="NAME", help="Chip to report (default Ascend910B4).")
]
Devices = Annotated[int | None, typer.Option(metavar="N", help="Number of devices (default 2).")]
Memory = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Memory per device, for example 8G.")
]
Kernels = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE", exists=True, dir_okay=False, help="Python or C++ file with kernels."
    ),
]


def read_settings(
    soc: str | None, devices: int | None, memory: str | None, kernels: list[Path] | None = None
) -> TwinSettings:
    """Check the options; an error names the one that has a wrong value."""
    return TwinSettings(
        soc=None if soc is None else check_soc(soc, where="--soc"),
        devices=None if devices is None else check_devices(devices, where="--devices"),
        memory=None if memory is None else parse_memory(memory, where="--memory"),
        kernels=tuple(kernels or ()),
    )
