"""Samples of an operator's arguments, solved from its declaration.

A sample is data (`opwright.kit.declare.sample.Sample`), resolved: every tensor has its dtype. It
can be printed, kept in a report, made smaller, and made into tensors on any device.

The names below are imported when they are asked for: reports describe samples without torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opwright.check.samples.aspects import ALL, Aspect
    from opwright.check.samples.made import arguments
    from opwright.check.samples.samples import Samples
    from opwright.check.samples.text import describe

__all__ = ["ALL", "Aspect", "Samples", "arguments", "describe"]

# Name -> the module that has it.
MODULES = {
    "ALL": "aspects",
    "Aspect": "aspects",
    "arguments": "made",
    "Samples": "samples",
    "describe": "text",
}


def __getattr__(name: str) -> object:
    """Import a name of the package."""
    if name not in MODULES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(f"{__name__}.{MODULES[name]}"), name)
