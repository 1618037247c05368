"""Puts opwright's twin beneath torch_npu wherever Python runs in this environment.

`opwright enable` lays this file into the environment's site-packages, and a .pth file beside it
calls `install` at each start of Python; `opwright disable` removes both. Until torch_npu is looked
for nothing is imported but what Python has loaded by then, so that other programs start as fast as
before.

PYTEST_DONT_REWRITE: it is loaded before pytest, which would warn that it cannot rewrite it.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from pathlib import Path
    from types import ModuleType

__all__ = ["install"]


class TwinFinder:
    """Finds torch_npu with the twin beneath it, where no CANN is; leaves all else to others."""

    def __init__(self, *, prefer: bool) -> None:
        self.prefer = prefer

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return torch_npu's module with a loader that activates the twin first."""
        if fullname != "torch_npu" or os.environ.get("OPWRIGHT_TWIN") == "0":
            return None
        toolkit = twins_toolkit()
        if toolkit is None:
            return None
        from opwright import other_cann

        if not self.prefer and any(other_cann.places(os.environ, toolkit)):
            return None
        from opwright.twin.activation import BeforeTorchNpu
        from opwright.twin.settings import TwinSettings

        return BeforeTorchNpu(TwinSettings()).find_spec(fullname, path, target)


def twins_toolkit() -> Path | None:
    """Return the root of the twin's toolkit; None if opwright was uninstalled."""
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec("opwright")
    return Path(spec.origin).parent / "cann" if spec and spec.origin else None


def install(*, prefer: bool) -> None:
    """Be asked first for each module that is imported from here on.

    Parameters
    ----------
    prefer
        Whether the twin goes before a CANN that the environment names.
    """
    sys.meta_path.insert(0, TwinFinder(prefer=prefer))
