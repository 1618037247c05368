"""opwright: write a custom PyTorch operator for Ascend NPUs once, run it without an NPU.

Importing this package loads nothing else: neither torch nor the twin.
"""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"


def __dir__() -> list[str]:
    return __all__
