"""Whether a real CANN with a real NPU is present on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opwright import other_cann
from opwright.twin.toolkit import default_toolkit

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Hardware", "find_hardware"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """The parts of a real Ascend installation that are present.

    Parameters
    ----------
    npus
        Device files of the NPU driver, /dev/davinci0 and so on.
    cann
        Root of the CANN toolkit that the environment names; None if there is none or it is the
        twin's.
    """

    npus: tuple[str, ...]
    cann: str | None

    @property
    def usable(self) -> bool:
        """Whether torch_npu can run on it."""
        return bool(self.npus) and self.cann is not None


def find_hardware(environ: Mapping[str, str], devices: Path = Path("/dev")) -> Hardware:
    """Look at the device files and at the toolkit that the environment names."""
    npus = tuple(sorted(str(node) for node in devices.glob("davinci[0-9]*")))
    return Hardware(npus=npus, cann=other_cann.home(environ, default_toolkit().root))
