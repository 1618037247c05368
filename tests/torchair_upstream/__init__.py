"""TorchAir's own system tests on the twin, and the list of what cannot pass (`reviewed.tsv`).

* `device`: it passes if new tensors are on the NPU: as it stands, it mixes devices.
* `stub`: it asks for what only the vendor's stub answers.
* `revision`: the installed TorchAir does otherwise than the revision of the tests.
* `twin`: the twin does otherwise than CANN.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["KINDS", "REVIEWED"]

REVIEWED = Path(__file__).with_name("reviewed.tsv")
KINDS = ("device", "stub", "revision", "twin")
