"""torch's loading of its back ends, torch_npu among them: held back where torch is needed alone."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opwright.twin.environment import AUTOLOAD

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["suppress_autoload"]


@contextmanager
def suppress_autoload() -> Iterator[None]:
    """Keep an import of torch in this block from loading its back ends."""
    before = os.environ.get(AUTOLOAD)
    os.environ[AUTOLOAD] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[AUTOLOAD]
        else:
            os.environ[AUTOLOAD] = before
