"""opwright: write a custom PyTorch operator for Ascend NPUs once, run it without an NPU.

Importing this package loads nothing else, neither torch nor the twin; a name is imported when it is
first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opwright.kit.declare import OperatorSet as OperatorSet
    from opwright.kit.declare import broadcast as broadcast
    from opwright.kit.declare import cpp as cpp
    from opwright.kit.declare import each as each
    from opwright.kit.declare import error as error
    from opwright.kit.declare import like as like
    from opwright.kit.declare import promote as promote
    from opwright.kit.declare import reduced as reduced
    from opwright.kit.declare import tensor as tensor
    from opwright.kit.declare.sample import sample as sample

__all__ = [
    "OperatorSet",
    "broadcast",
    "cpp",
    "each",
    "error",
    "like",
    "promote",
    "reduced",
    "sample",
    "tensor",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module("opwright.kit.declare"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
